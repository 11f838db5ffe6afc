//! Small random learning problems.

use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, EncodedDataset, FeatureMap, Features, Inference,
    Problem, Schema, Seed, Value,
};
use rand::RngExt as _;

/// Settings of random data.
#[derive(Debug, Clone)]
pub struct Draw {
    /// Number of sequences.
    pub sequences: usize,
    /// Upper limit of the positions in a sequence.
    pub length: usize,
    /// Number of labels.
    pub labels: usize,
    /// Average number of unlabelled positions in ten.
    pub unlabelled: u32,
    /// Seed of all draws.
    pub seed: u64,
}

/// Draws sequences with two real channels and a symbolic one, all of which depend on the label.
pub fn data(draw: &Draw) -> Dataset {
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
pub struct Encoded {
    /// Encoded training data.
    pub corpus: EncodedDataset,
    /// Map of all their features.
    pub map: Arc<FeatureMap>,
}

impl std::fmt::Debug for Encoded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (data, features) = (self.corpus.data(), (0..self.map.len()).map(|k| self.map.name(k)));
        let sequences = (0..data.len()).map(|i| (data.weight(i), &data.labels()[data.range(i)]));
        f.debug_list().entries(features).entries(sequences).finish()
    }
}

impl Encoded {
    /// Encodes data by a feature list in JSON.
    pub fn new(features: &str, data: Dataset) -> Self {
        let features: Features = serde_json::from_str(features).unwrap();
        let fitted = features.fit(&data).unwrap();
        let corpus = fitted.encode(Arc::new(data)).unwrap();
        Encoded { map: Arc::new(fitted.map(&corpus).unwrap()), corpus }
    }

    /// Encodes training data by a feature list in JSON, and validation data by the same functions.
    pub fn with_valid(features: &str, train: Dataset, valid: Dataset) -> (Self, EncodedDataset) {
        let features: Features = serde_json::from_str(features).unwrap();
        let fitted = features.fit(&train).unwrap();
        let [corpus, valid] = [train, valid].map(|data| fitted.encode(Arc::new(data)).unwrap());
        (Encoded { map: Arc::new(fitted.map(&corpus).unwrap()), corpus }, valid)
    }

    /// Problem of learning from these data.
    pub fn problem<'a>(&'a self, inference: &'a dyn Inference) -> Problem<'a> {
        Problem::new(&self.corpus, &self.map, inference)
    }
}

/// Weights drawn uniformly between `-scale` and `scale`.
pub fn random_weights(map: &FeatureMap, scale: f64, seed: u64) -> Vec<f64> {
    let mut rng = Seed::new(seed).child("weights").rng();
    (0..map.len()).map(|_| scale * (2.0 * rng.random::<f64>() - 1.0)).collect()
}

/// Largest difference between an objective's gradient at `w` and central differences.
///
/// `evaluate` returns the value and writes the gradient.
pub fn slope_error(mut evaluate: impl FnMut(&[f64], &mut [f64]) -> f64, w: &[f64]) -> f64 {
    let (mut gradient, mut unused, mut moved) = (vec![0.0; w.len()], vec![0.0; w.len()], w.to_vec());
    evaluate(w, &mut gradient);
    let h = 1e-4;
    let errors = (0..w.len()).map(|k| {
        let [above, below] = [h, -h].map(|by| {
            moved[k] = w[k] + by;
            evaluate(&moved, &mut unused)
        });
        moved[k] = w[k];
        (gradient[k] - (above - below) / (2.0 * h)).abs()
    });
    errors.fold(0.0, f64::max)
}
