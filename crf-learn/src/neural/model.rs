use crf_core::{BoundModel, EncodedDataset, FittedFeatures, LogLinear, Model, Potentials, Result, Scratch};
use serde::{Deserialize, Serialize};

use crate::neural::feed_forward::FeedForwardNet;
use crate::objectives::fixed_scores::{FixedScores, add_scores};

/// A net that scores the labels of each position, with the weights of transition features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NeuralModel {
    net: FeedForwardNet,
    weights: Vec<f64>,
    pairs: LogLinear, // without state features
}

impl NeuralModel {
    pub(crate) fn new(net: FeedForwardNet, weights: Vec<f64>, pairs: LogLinear) -> Self {
        NeuralModel { net, weights, pairs }
    }
}

#[typetag::serde(name = "neural-chain")]
impl Model for NeuralModel {
    fn bind<'a>(&'a self, x: &'a EncodedDataset) -> Result<Box<dyn BoundModel + 'a>> {
        let pairs = self.pairs.bind(x)?;
        Ok(Box::new(BoundNeural { x, pairs, scores: FixedScores(self.net.scores(&self.weights, x)) }))
    }

    fn restore(&mut self, features: &FittedFeatures) -> Result<()> {
        self.pairs.restore(features)?;
        self.net.check(self.pairs.map().state(), features.schema().n_labels(0), &self.weights)
    }

    /// Reports the norms of the first-layer weights of each function, and the weights of transition
    /// features.
    fn describe(&self, top: usize, out: &mut dyn FnMut(&str, f64)) {
        let features = self.pairs.map().state();
        let length = |row: &[f64]| row.iter().map(|w| w * w).sum::<f64>().sqrt();
        let mut all: Vec<(String, f64)> = self
            .net
            .first_layer(&self.weights)
            .map(|(g, row)| (format!("‖{} → first layer‖", features.name(g)), length(row)))
            .collect();
        self.pairs.describe(usize::MAX, &mut |name, weight| all.push((name.to_owned(), weight)));
        all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        all.iter().take(top).for_each(|(name, value)| out(name, *value));
    }
}

/// A neural model bound to a dataset: potentials of transition features, and scores of all
/// positions.
struct BoundNeural<'a> {
    x: &'a EncodedDataset,
    pairs: Box<dyn BoundModel + 'a>,
    scores: FixedScores,
}

impl BoundModel for BoundNeural<'_> {
    fn fill<'s>(&'s self, i: usize, scratch: &'s mut Scratch) -> Result<Potentials<'s>> {
        let mut p = self.pairs.fill(i, scratch)?;
        add_scores(&mut p, self.scores.sequence(self.x.data(), i));
        Ok(p)
    }
}
