//! The example of each plugin, and the smallest experiment in which it takes part.

use std::path::{Path, PathBuf};

use crf_core::Plugin;
use toml::{Table, Value};

use crate::config::KeyPath;
use crate::error::{Error, Result};
use crate::kinds::Kind;

/// What all examples have in common.
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

/// A learner for questions about something else: it trains nothing.
const FIXED: &str = r#"type = "fixed"
weights = { "y=*" = 1.0 }"#;

/// The file of a plugin's example in the toolkit's sources.
pub fn example_file(plugin: &Plugin) -> PathBuf {
    let file = format!("plugins/{}/{}.toml", plugin.kind, plugin.tag);
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

/// The example of a plugin: that of the toolkit's sources where they are, or else the plugin with all its defaults.
pub fn example(plugin: &Plugin) -> Result<Table> {
    match std::fs::read_to_string(example_file(plugin)) {
        Ok(text) => text.parse().map_err(Error::format("the plugin's example")),
        Err(_) => {
            let kind = Kind::named(plugin.kind).map_err(|message| Error::config(plugin.kind, message))?;
            Ok(kind.bare(plugin.tag))
        }
    }
}

/// An experiment in which a plugin takes part; none for formats, which are for files of one's own.
pub fn experiment(plugin: &Plugin, config: &Table) -> Option<Table> {
    let mut experiment = Value::Table(EXPERIMENT.parse().expect("the example is right"));
    let mut set = |path: &[&str], value: Value| KeyPath::of(path.iter().copied()).set(&mut experiment, value);
    let of = |text: &str| Value::Table(text.parse().expect("the example is right"));
    let (own, method) = (Value::Table(config.clone()), ["methods", "CRF"]);
    set(&["title"], format!("The {} `{}`", plugin.kind, plugin.tag).into());
    match plugin.kind {
        "claim" => {
            let mut claim = config.clone();
            claim.insert("text".to_owned(), "what it says in words".into());
            set(&["claims"], vec![Value::Table(claim)].into());
            return experiment.try_into().ok();
        }
        "learner" | "selector" => set(&[method[0], method[1], plugin.kind], own),
        "inference" => {
            set(&[method[0], method[1], "learner"], of(FIXED));
            set(&[method[0], method[1], "decode"], "viterbi".into());
            set(&[method[0], method[1], "inference"], own)
        }
        "metric" => {
            set(&["reference"], "forward-backward".into());
            set(&["metrics"], vec![own].into())
        }
        "optimizer" => set(&[method[0], method[1], "learner", "optimizer"], own),
        "prototype" => {
            let feature = Table::from_iter([("state".to_owned(), own)]);
            set(&[method[0], method[1], "features"], vec!["intercept".into(), Value::Table(feature)].into())
        }
        "source" => {
            set(&["dataset"], own);
            set(
                &[method[0], method[1], "features"],
                vec![Value::from("intercept"), "transition".into()].into(),
            );
            set(&[method[0], method[1], "inference"], "belief-propagation".into());
            set(&[method[0], method[1], "decode"], "viterbi".into());
            set(&[method[0], method[1], "learner"], of(FIXED))
        }
        _ => return None,
    };
    // Only claims compare methods along a sweep.
    KeyPath::of(["sweep"]).remove(&mut experiment);
    KeyPath::of(["methods", "HMM"]).remove(&mut experiment);
    experiment.try_into().ok()
}
