use crf_core::{Fit, FitContext, Learner, Problem, Result, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::margin::loss::Margin;
use crate::margin::online::{OnlineRule, OnlineWeights, learn_online};
use crate::margin::training_loop::RoundLimits;

/// The averaged structured perceptron (Collins 2002).
///
/// Sequences are decoded one by one, in an order drawn anew for each epoch; where the answer is wrong, the weights of
/// the true labelling's features grow and those of the answer's shrink. The model has the average of all weights there
/// ever were. The objective of its trace is the number of wrong positions of the epoch, and the gradient norm the length
/// of the way that the model's weights went in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Perceptron {
    /// How often to go over the data; at least 1. An epoch without a mistake is the last.
    pub epochs: u32,
    /// Whether the model has the average of the weights, or the last ones.
    pub average: bool,
    /// With validation data: stop after so many epochs in a row that did not lower the number of wrong positions there,
    /// and keep the weights that were best; 0 does not look at them.
    pub patience: u32,
}

impl Default for Perceptron {
    fn default() -> Self {
        Perceptron { epochs: 20, average: true, patience: 0 }
    }
}

crf_core::plugin!("learner", Perceptron, "perceptron", example = "epochs = 3");

#[typetag::serde(name = "perceptron")]
impl Learner for Perceptron {
    fn check(&self) -> Result<()> {
        require(self.epochs > 0, "epochs", "at least 1", self.epochs)
    }

    fn watches_validation(&self) -> bool {
        self.patience > 0
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        let limits = RoundLimits { tag: "perceptron", rounds: self.epochs, patience: self.patience };
        learn_online(self, &Margin::default(), self.average, limits, problem, run)
    }
}

impl OnlineRule for &Perceptron {
    fn update(&mut self, weights: &mut OnlineWeights<'_>, i: usize) -> Result<f64> {
        let n_wrong = weights.decoder.mistakes(i)?;
        if n_wrong > 0 {
            let step = weights.decoder.weight(i);
            weights.move_towards_truth(i, |_| step);
        }
        Ok(n_wrong as f64)
    }
}
