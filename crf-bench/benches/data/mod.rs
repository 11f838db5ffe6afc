//! Random sequences that several benches share.

use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, DatasetBuilder, EncodedDataset, FeatureMap, Features, Fit, FitContext,
    Learner, Problem, Schema, Seed, Value,
};
use rand::RngExt as _;

/// Sequences of 20 positions, each with `active` symbols out of 1,000 per channel.
pub(crate) fn corpus(sequences: usize, labels: usize, active: usize) -> (EncodedDataset, Arc<FeatureMap>) {
    let symbols = Alphabet::new((0..1_000).map(|k| format!("s{k}")));
    let channel = |k| Channel { name: format!("c{k}"), kind: ChannelKind::Symbol(symbols.clone()) };
    let names = Alphabet::new((0..labels).map(|y| format!("y{y}")));
    let schema = Schema::chain((0..active).map(channel).collect(), names).expect("the schema is sound");
    let mut builder = DatasetBuilder::new(Arc::new(schema));
    let mut rng = Seed::new(1).rng();
    for _ in 0..sequences {
        for _ in 0..20 {
            // Squaring makes small numbers frequent, as words are.
            let mut symbol = || Value::Symbol((1_000.0 * rng.random::<f64>().powi(2)) as u32);
            let values: Vec<Value<'_>> = (0..active).map(|_| symbol()).collect();
            builder.push(&values, Some(rng.random_range(0..labels as u32))).expect("the position is sound");
        }
        builder.end_chain().expect("the sequence is sound");
    }
    let features: Features =
        serde_json::from_str(r#"["transition", {"state": "equals"}]"#).expect("the features are sound");
    let data = builder.finish();
    let fitted = features.fit(&data).expect("the features fit");
    let corpus = fitted.encode(Arc::new(data)).expect("the data are finite");
    let map = Arc::new(fitted.map(&corpus).expect("the map is small"));
    (corpus, map)
}

/// Trains a model, which nobody watches.
#[allow(dead_code, reason = "not every bench trains")]
pub(crate) fn train(learner: &dyn Learner, problem: &Problem<'_>) -> Fit {
    learner
        .fit(problem, &mut FitContext::new(Seed::new(1), &mut |_| ControlFlow::Continue(())))
        .expect("a fit")
}
