//! Small random problems that many tests share.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Decode, EncodedDataset, FeatureMap, Features,
    Fit, FitContext, Inference, Learner, Model, Problem, Schema, Seed, Value, evaluate,
};
use crf_inference::ForwardBackward;
use crf_learn::{Objective, Sharded};
use rand::RngExt as _;

/// A run that nobody watches.
pub(crate) fn quiet<R>(seed: u64, f: impl FnOnce(&mut FitContext<'_>) -> R) -> R {
    f(&mut FitContext::new(Seed::new(seed), &mut |_| ControlFlow::Continue(())))
}

/// What `f` gives on a pool of so many threads.
pub(crate) fn on_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(f)
}

/// −log p(Y | X) of data under a model, by exact inference on chains.
pub(crate) fn log_loss(model: &dyn Model, x: &EncodedDataset) -> f64 {
    let answers = evaluate(model, x, &INFERENCE, Decode::Posterior).unwrap();
    let log_likelihood = answers.probabilities.unwrap().log_likelihood;
    (0..x.len()).map(|i| -x.data().weight(i) * log_likelihood[i]).sum()
}

/// What a learner makes of a problem on so many threads, as its file has it.
pub(crate) fn trained(learner: &dyn Learner, problem: &Problem<'_>, threads: usize, seed: u64) -> String {
    text(&on_threads(threads, || quiet(seed, |run| learner.fit(problem, run))).unwrap())
}

/// A model as its file has it: the same for the same model.
pub(crate) fn text(fit: &Fit) -> String {
    serde_json::to_string(&fit.model).expect("a model that can be saved")
}

pub(crate) const INFERENCE: ForwardBackward =
    ForwardBackward { domain: crf_inference::Domain::Auto, beam: None };

/// What to draw.
#[derive(Debug, Clone)]
pub(crate) struct Draw {
    pub(crate) sequences: usize,
    pub(crate) length: usize,
    pub(crate) labels: usize,
    /// How many of ten positions lose their label.
    pub(crate) unlabelled: u32,
    pub(crate) seed: u64,
}

/// Sequences with two real channels that depend on the label and a symbolic one that does so too.
pub(crate) fn data(draw: &Draw) -> Dataset {
    let channel = |name: &str, kind| Channel { name: name.into(), kind };
    let channels = vec![
        channel("x", ChannelKind::Real),
        channel("z", ChannelKind::Real),
        channel("word", ChannelKind::Symbol(Alphabet::new(["a", "b", "c"]))),
    ];
    let names = (0..draw.labels).map(|y| format!("L{y}"));
    let schema = Arc::new(Schema::chain(channels, Alphabet::new(names)).unwrap());
    let mut rng = Seed::new(draw.seed).rng();
    let mut builder = DatasetBuilder::new(schema);
    for i in 0..draw.sequences {
        let mut y = 0;
        for _ in 0..draw.length.saturating_sub(i % 3) {
            if rng.random::<f64>() < 0.4 {
                y = rng.random_range(0..draw.labels as u32);
            }
            let mut noise = || 2.0 * rng.random::<f64>() - 1.0;
            let (x, z) = (f64::from(y) + 2.0 * noise(), noise() - 0.3 * f64::from(y));
            let word = (y + rng.random_range(0..2_u32)) % 3;
            let label = (rng.random_range(0..10_u32) >= draw.unlabelled).then_some(y);
            builder.push(&[Value::Real(x), Value::Real(z), Value::Symbol(word)], label).unwrap();
        }
        builder.end_chain().unwrap();
        builder.weigh_last(1.0 + 0.5 * (i % 2) as f64).unwrap();
    }
    builder.finish()
}

/// Encoded data with their features.
pub(crate) struct Encoded {
    pub(crate) corpus: EncodedDataset,
    pub(crate) map: Arc<FeatureMap>,
}

impl std::fmt::Debug for Encoded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (data, features) = (self.corpus.data(), (0..self.map.len()).map(|k| self.map.name(k)));
        let sequences = (0..data.len()).map(|i| (data.weight(i), &data.labels()[data.range(i)]));
        f.debug_list().entries(features).entries(sequences).finish()
    }
}

impl Encoded {
    pub(crate) fn new(features: &str, data: Dataset) -> Self {
        let features: Features = serde_json::from_str(features).unwrap();
        let fitted = features.fit(&data).unwrap();
        let corpus = fitted.encode(Arc::new(data)).unwrap();
        Encoded { map: Arc::new(fitted.map(&corpus).unwrap()), corpus }
    }

    /// With other data, encoded by the same functions.
    pub(crate) fn with_valid(features: &str, train: Dataset, valid: Dataset) -> (Self, EncodedDataset) {
        let features: Features = serde_json::from_str(features).unwrap();
        let fitted = features.fit(&train).unwrap();
        let [corpus, valid] = [train, valid].map(|data| fitted.encode(Arc::new(data)).unwrap());
        (Encoded { map: Arc::new(fitted.map(&corpus).unwrap()), corpus }, valid)
    }

    pub(crate) fn problem<'a>(&'a self, inference: &'a dyn Inference) -> Problem<'a> {
        Problem::new(&self.corpus, &self.map, inference)
    }
}

/// Weights drawn uniformly between `-scale` and `scale`.
pub(crate) fn random_weights(map: &FeatureMap, scale: f64, seed: u64) -> Vec<f64> {
    let mut rng = Seed::new(seed).child("weights").rng();
    (0..map.len()).map(|_| scale * (2.0 * rng.random::<f64>() - 1.0)).collect()
}

/// The largest difference of an objective's gradient at `w` and central differences.
pub(crate) fn slope_error<O: Objective>(mut f: Sharded<O>, w: &[f64]) -> f64 {
    let (mut gradient, mut unused, mut moved) = (vec![0.0; w.len()], vec![0.0; w.len()], w.to_vec());
    f.evaluate(w, &mut gradient).unwrap();
    let h = 1e-4;
    let errors = (0..w.len()).map(|k| {
        let [above, below] = [h, -h].map(|by| {
            moved[k] = w[k] + by;
            f.evaluate(&moved, &mut unused).unwrap()
        });
        moved[k] = w[k];
        (gradient[k] - (above - below) / (2.0 * h)).abs()
    });
    errors.fold(0.0, f64::max)
}
