//! Columns of any size: every selector ends with a valid path, or says why there is none.

use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Chosen, DatasetBuilder, Decode, EncodedDataset, Error, FitContext,
    Iteration, Plugin, Problem, Result, Schema, Seed, Selector, Value, choose,
};
use crf_learn::{Minimisation, Mle};
use rand::RngExt as _;

use crf_testing::problems::Encoded;
use crf_testing::runs::INFERENCE;

/// Values and their squares, if these are finite.
fn features(name: &str) -> String {
    let degrees = if name.contains("1e30") { "[1]" } else { "[1, 2]" };
    format!(
        r#"["intercept", "transition", {{"state": {{"type": "power", "degrees": {degrees}, "of": "value"}}}}]"#
    )
}

/// Chains of two labels, with a number that depends on the label and its transform by a column.
fn chains(column: fn(f64) -> [f64; 2], seed: u64) -> crf_core::Dataset {
    let channel = |name: &str| Channel { name: name.into(), kind: ChannelKind::Real };
    let channels = ["plain", "first", "second"].map(channel).to_vec();
    let schema = Arc::new(Schema::chain(channels, Alphabet::new(["no", "yes"])).unwrap());
    let (mut rng, mut builder) = (Seed::new(seed).rng(), DatasetBuilder::new(schema));
    for _ in 0..10 {
        let mut label = 0;
        for _ in 0..12 {
            if rng.random::<f64>() < 0.3 {
                label = 1 - label;
            }
            let mut noisy =
                |size: f64| 2.0 * f64::from(label) - 1.0 + size * (2.0 * rng.random::<f64>() - 1.0);
            let (plain, x) = (noisy(3.0), noisy(1.5));
            let [first, second] = column(x);
            builder.push(&[plain, first, second].map(Value::Real), Some(label)).unwrap();
        }
        builder.end_chain().unwrap();
    }
    builder.finish()
}

/// Two columns of a number.
type Columns = fn(f64) -> [f64; 2];

/// Sizes of columns, by name.
const COLUMNS: [(&str, Columns); 9] = [
    ("of size 1", |x| [x, 0.5 * x * x]),
    ("of size 1e6", |x| [1e6 * x, x]),
    ("of size 1e-6", |x| [1e-6 * x, x]),
    ("a constant", |x| [x, 3.7]),
    ("nearly equal", |x| [x, x * (1.0 + 1e-9)]),
    ("of size 1e6 and 1e-6", |x| [1e6 * x, 1e-6 * x]),
    ("of size 1e150", |x| [1e150 * x, x]),
    ("of size 1e300", |x| [1e300 * x, x]),
    ("of size 1e307", |x| [7e307 * x, x]),
];

/// Largest number of iterations of a path on so few data; the longest take some 1,500.
const MAX_ITERATIONS: u32 = 20_000;

/// The choice of a selector with its default settings.
fn select(tag: &str, encoded: &(Encoded, EncodedDataset)) -> Result<Chosen> {
    let (train, valid) = encoded;
    let selector: Box<dyn Selector> = serde_json::from_str(&format!(r#"{{"type": "{tag}"}}"#)).unwrap();
    let problem = Problem { valid: Some(valid), ..train.problem(&INFERENCE) };
    let mut n_iterations = 0;
    let mut watch = |iteration: &Iteration| {
        n_iterations += 1;
        assert!(n_iterations < MAX_ITERATIONS, "{tag} has no end");
        assert!(iteration.objective.is_finite() && iteration.gradient_norm.is_finite(), "{iteration:?}");
        ControlFlow::Continue(())
    };
    let learner = Mle(Minimisation { l2: 1.0, ..Minimisation::default() });
    let mut run = FitContext::new(Seed::new(1), &mut watch);
    choose(&*selector, &learner, Decode::Posterior, &problem, &mut run)
}

/// The error itself, without its places.
fn root(error: &Error) -> &Error {
    match error {
        Error::At { source, .. } => root(source),
        other => other,
    }
}

/// Asserts that a choice has a model without a NaN.
fn assert_valid(case: &str, chosen: &Chosen, n_features: usize) {
    assert!(chosen.features.is_sorted() && chosen.features.len() == chosen.map.len(), "{case}");
    assert!(chosen.features.iter().all(|&k| k < n_features), "{case}");
    assert!(!chosen.tried.is_empty(), "{case}: no candidate");
    for tried in &chosen.tried {
        assert!(tried.objective.is_none_or(f64::is_finite), "{case}: {tried:?}");
        assert!(tried.score.is_none_or(|score| (0.0..=1.0).contains(&score)), "{case}: {tried:?}");
    }
    if let Some(model) = &chosen.model {
        assert!(model.weights().iter().all(|w| w.is_finite()), "{case}: {:?}", model.weights());
    }
}

#[test]
fn every_selector_ends_on_columns_of_any_size() {
    for (name, column) in COLUMNS {
        let is_huge = name.contains("1e150") || name.contains("1e30");
        let data = [1, 2].map(|seed| chains(column, seed));
        let [train, valid] = data;
        let encoded = Encoded::with_valid(&features(name), train, valid);
        for plugin in Plugin::all().iter().filter(|plugin| plugin.kind == "selector") {
            let case = format!("{} on columns {name}", plugin.tag);
            match select(plugin.tag, &encoded) {
                Ok(chosen) => assert_valid(&case, &chosen, encoded.0.map.len()),
                // What is refused is refused in words.
                Err(error) => {
                    let is_refused = matches!(root(&error), Error::NotFinite(_));
                    assert!(is_huge && is_refused, "{case}: {error}");
                }
            }
        }
    }
}

// With a test that had units these chose one feature, or none, or had no end.
#[test]
fn numbers_of_size_1e6_hide_no_other_from_forward_selection() {
    let [train, valid] = [1, 2].map(|seed| chains(|x| [1e6 * x, x], seed));
    let encoded = Encoded::with_valid(&features("of size 1e6"), train, valid);
    for tag in ["grafting", "shortlist", "mean-field-gain", "forward-wrapper"] {
        let chosen = select(tag, &encoded).unwrap();
        let lowest = chosen.tried[chosen.best.unwrap()].score.unwrap();
        assert!(chosen.tried.last().unwrap().features >= 3 && lowest < 0.15, "{tag}: {lowest}");
    }
}

#[test]
fn filters_rank_a_number_alike_in_any_unit() {
    let order = |tag: &str, column: fn(f64) -> [f64; 2]| {
        let encoded = Encoded::new(&features("of size 1e307"), chains(column, 1));
        let selector: Box<dyn Selector> =
            serde_json::from_str(&format!(r#"{{"type": "{tag}", "growth": 1.0}}"#)).unwrap();
        let mut sets = Vec::new();
        let mut watch = |_: &Iteration| ControlFlow::Continue(());
        let mut run = FitContext::new(Seed::new(1), &mut watch);
        let stop = selector.path(&encoded.problem(&INFERENCE), &mut run, &mut |candidate| {
            sets.push(candidate.features.to_vec());
            Ok(ControlFlow::Continue(()))
        });
        (stop.unwrap(), sets)
    };
    for tag in ["correlation", "mutual-information", "relief"] {
        let plain = order(tag, |x| [x, 0.1 * x]);
        assert!(plain.1.len() > 2, "{tag}");
        assert_eq!(plain, order(tag, |x| [x * 2.0_f64.powi(1020), 0.1 * x]), "{tag}");
        assert_eq!(plain, order(tag, |x| [x * 2.0_f64.powi(-1000), 0.1 * x]), "{tag}");
    }
}

// A table of all pairs of labels would have 400 million entries for each function.
#[test]
fn filters_make_no_table_of_all_pairs_of_labels() {
    let words = Alphabet::new(["a", "b", "c"]);
    let channel = Channel { name: "word".into(), kind: ChannelKind::Symbol(words) };
    let labels = Alphabet::new((0..20_000).map(|label| format!("L{label}")));
    let mut builder = DatasetBuilder::new(Arc::new(Schema::chain(vec![channel], labels).unwrap()));
    for t in 0..60 {
        builder.push(&[Value::Symbol(t % 3)], Some(t * 300 % 20_000)).unwrap();
    }
    builder.end_chain().unwrap();
    let encoded = Encoded::new(r#"[{"transition": "equals", "pairs": "observed"}]"#, builder.finish());
    for tag in ["correlation", "mutual-information"] {
        let selector: Box<dyn Selector> = serde_json::from_str(&format!(r#"{{"type": "{tag}"}}"#)).unwrap();
        let mut n_candidates = 0;
        let mut watch = |_: &Iteration| ControlFlow::Continue(());
        let mut run = FitContext::new(Seed::new(1), &mut watch);
        let stop = selector.path(&encoded.problem(&INFERENCE), &mut run, &mut |_| {
            n_candidates += 1;
            Ok(ControlFlow::Continue(()))
        });
        assert!(stop.is_ok() && n_candidates > 3, "{tag}: {stop:?} after {n_candidates}");
    }
}
