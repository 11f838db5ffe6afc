//! Configs, templates and rules: what is read survives being written and read again, and features
//! can be fitted to small data or are refused.

use std::sync::Arc;

use crf_bench::Trainer;
use crf_bench::config::{self, Override};
use crf_core::prototypes::{Relational, Template};
use crf_core::{Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Features, Prototype, Value};

pub(crate) fn experiment(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Ok(plan) = config::parse("fuzzed.toml", text, false, &[]) {
        let resolved = toml::to_string(&plan.config).expect("a config can be written");
        let again = config::parse("again.toml", &resolved, false, &[]);
        let again =
            again.unwrap_or_else(|error| panic!("the resolved config is refused: {error}\n{resolved}"));
        assert_eq!(toml::to_string(&again.config).expect("a config can be written"), resolved);
    }
}

pub(crate) fn training(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let _ = Trainer::from_toml(text);
}

pub(crate) fn setting(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Ok(setting) = Override::parse(text) {
        let experiment = include_str!("../../../experiments/quickstart.toml");
        let _ = config::parse("quickstart.toml", experiment, false, &[setting]);
    }
}

pub(crate) fn template(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let templates: Vec<String> = text.lines().map(str::to_owned).collect();
    fit(&Template { templates, min_count: 1 }, &words());
}

pub(crate) fn relational(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let (define, rules) = text.lines().map(str::to_owned).partition(|line: &String| line.starts_with("def "));
    let strip = |line: String| line.trim_start_matches("def ").to_owned();
    let define: Vec<String> = Vec::into_iter(define).map(strip).collect();
    fit(&Relational { rules, define, most: 10_000, ..Relational::default() }, &robots());
}

/// Fits a prototype and evaluates it; its stored form must be read again and give the same values.
fn fit(prototype: &dyn Prototype, data: &Arc<Dataset>) {
    if prototype.check().is_err() {
        return;
    }
    let Ok(json) = serde_json::to_value(prototype) else { panic!("a prototype that cannot be stored") };
    let list = serde_json::json!([{ "state": json }]);
    let features: Features = serde_json::from_value(list).expect("a stored prototype can be read");
    let Ok(fitted) = features.fit(data) else { return };
    let encoded = fitted.encode(data.clone()).expect("the data it was fitted on");
    let stored = serde_json::to_string(&fitted).expect("fitted features can be stored");
    let again: crf_core::FittedFeatures = serde_json::from_str(&stored).expect("and read");
    assert_eq!(again.n_functions(), fitted.n_functions());
    let encoded_again = again.encode(data.clone()).expect("the same data");
    assert_eq!(format!("{:?}", encoded_again.nodes()), format!("{:?}", encoded.nodes()));
}

/// Words with a part of speech: two sequences, one of a single position.
fn words() -> Arc<Dataset> {
    let mut data = builder(["word", "pos"].map(|name| (name, ChannelKind::Symbol(Alphabet::default()))));
    for sequence in [&[("The", "DT", "O"), ("1.", "CD", "B"), ("ab-c", "NN", "I")][..], &[("é日", "", "O")]]
    {
        for (word, pos, label) in sequence {
            let values = [Value::Symbol(data.symbol(0, word)), Value::Symbol(data.symbol(1, pos))];
            let label = data.label(label);
            data.push(&values, Some(label)).expect("a position");
        }
        data.end_chain().expect("a sequence");
    }
    data.finish().into()
}

/// Two robots with places and speeds.
fn robots() -> Arc<Dataset> {
    let names = ["pos.ann.x", "pos.ann.y", "pos.bob.x", "pos.bob.y", "speed.ann", "speed.bob", "heat"];
    let mut data = builder(names.map(|name| (name, ChannelKind::Real)));
    for t in 0..4 {
        let values: Vec<Value<'_>> =
            (0..names.len()).map(|c| Value::Real((c * 4 + t) as f64 / 3.0)).collect();
        let label = data.label(["chase", "flee"][t / 2]);
        data.push(&values, Some(label)).expect("a position");
    }
    data.end_chain().expect("a sequence");
    data.finish().into()
}

fn builder<const N: usize>(channels: [(&str, ChannelKind); N]) -> DatasetBuilder {
    let channels = channels.map(|(name, kind)| Channel { name: name.into(), kind });
    DatasetBuilder::growing(channels.into()).expect("channels with names of their own")
}
