//! The example of each plugin, and the smallest experiment in which it takes part.

use crf_core::{Alphabet, Metric, Plugin, Schema};
use toml::{Table, Value};

use crate::catalogue::kind::Kind;
use crate::config::KeyPath;
use crate::error::{Error, Result};

/// The experiment that all examples begin with.
const EXPERIMENT: &str = r#"
title = "An example"
trials = 2
seed = 1
metrics = ["error", "accuracy"]

[dataset]
type = "weather"

[sweep]
"dataset.noise" = [0.1, 0.2, 0.4]

[methods.CRF]
features = ["intercept", "transition", { state = { type = "value", channels = ["temperature"] } }]
learner = { type = "mle", l2 = 1.0, stop = { iterations = 50 } }

[methods.HMM]
features = [{ state = { type = "value", channels = ["temperature"] } }]
learner = { type = "hmm", emission = "gaussian" }
"#;

/// A learner that trains nothing, for examples of other plugins.
const FIXED: &str = r#"type = "fixed"
weights = { "y=*" = 1.0 }"#;

/// The example of a plugin: its name with the settings in its `plugin!` line.
pub fn example(plugin: &Plugin) -> Result<Table> {
    let kind = Kind::named(plugin.kind).map_err(|message| Error::config(plugin.kind, message))?;
    let settings: Table = plugin.example.parse().map_err(Error::format("the plugin's example"))?;
    let mut example = kind.bare(plugin.tag);
    if let Some(all) = kind.settings(&mut example, plugin.tag) {
        all.extend(settings);
    }
    Ok(example)
}

/// True for a metric that takes labels of chunks only.
fn is_about_chunks(metric: &Value) -> bool {
    let takes = |labels: &[&str]| {
        let metric = metric.clone().try_into::<Box<dyn Metric>>();
        let schema = Schema::chain(Vec::new(), Alphabet::new(labels.iter().copied()));
        metric.is_ok_and(|metric| schema.is_ok_and(|schema| metric.check_labels(&schema).is_ok()))
    };
    takes(&["B-rain", "I-rain"]) && !takes(&["rain", "sun"])
}

/// An experiment with a plugin; `None` for formats, which are for a user's own files.
pub fn experiment(plugin: &Plugin, config: &Table) -> Option<Table> {
    let own = Value::Table(config.clone());
    let fixed = || Value::Table(FIXED.parse().expect("the example is right"));
    let mut changes: Vec<(&str, Value)> = match plugin.kind {
        "claim" => {
            let text = ("text".to_owned(), "what it says in words".into());
            let claim: Table = [text].into_iter().chain(config.clone()).collect();
            vec![("claims", vec![Value::Table(claim)].into())]
        }
        "inference" => vec![
            ("methods.CRF.inference", own),
            ("methods.CRF.decode", "viterbi".into()),
            ("methods.CRF.learner", fixed()),
        ],
        // Exact on chains, and it passes the messages that some learners need.
        "learner" => {
            vec![("methods.CRF.learner", own), ("methods.CRF.inference", "belief-propagation".into())]
        }
        "metric" => {
            let chunks = is_about_chunks(&own).then(|| ("dataset.chunks", true.into()));
            let metrics = [("metrics", vec![own].into()), ("reference", "forward-backward".into())];
            metrics.into_iter().chain(chunks).collect()
        }
        "optimizer" => vec![("methods.CRF.learner.optimizer", own)],
        "prototype" => {
            let feature = Table::from_iter([("state".to_owned(), own)]);
            vec![("methods.CRF.features", vec!["intercept".into(), Value::Table(feature)].into())]
        }
        "selector" => vec![("methods.CRF.selector", own)],
        "source" => vec![
            ("dataset", own),
            ("methods.CRF.features", vec![Value::from("intercept"), "transition".into()].into()),
            ("methods.CRF.inference", "belief-propagation".into()),
            ("methods.CRF.decode", "viterbi".into()),
            ("methods.CRF.learner", fixed()),
        ],
        _ => return None,
    };
    changes.push(("title", format!("The {} `{}`", plugin.kind, plugin.tag).into()));
    let mut experiment = Value::Table(EXPERIMENT.parse().expect("the example is right"));
    for (key, value) in changes {
        KeyPath::new(key.split('.')).set(&mut experiment, value);
    }
    if plugin.kind != "claim" {
        // Only claims compare methods along a sweep.
        KeyPath::new(["sweep"]).remove(&mut experiment);
        KeyPath::new(["methods", "HMM"]).remove(&mut experiment);
    }
    experiment.try_into().ok()
}
