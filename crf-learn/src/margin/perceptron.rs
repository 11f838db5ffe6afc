use crf_core::{Fit, FitContext, Learner, Problem, Result, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::margin::loss::Margin;
use crate::margin::online::{OnlineRule, OnlineWeights, learn_online};
use crate::margin::training_loop::RoundLimits;

/// The averaged structured perceptron (Collins 2002).
///
/// Sequences are decoded one by one, in an order drawn anew for each epoch. Where the prediction is
/// wrong, the weights of the features of the true labelling grow and those of the predicted
/// labelling shrink. The model has the average of the weights after all sequences. The objective of
/// the trace is the number of wrong positions in the epoch; the gradient norm is the distance that
/// the weights of the model moved in the epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Perceptron {
    /// Passes over the data; at least 1. An epoch without a mistake is the last.
    pub epochs: u32,
    /// True if the model has the average of the weights, false if it has the last weights.
    pub average: bool,
    /// Early stopping: epochs without improvement on the validation data (in wrong positions)
    /// before stopping; the best weights are kept. 0 disables it.
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

    fn fits_probabilities(&self) -> bool {
        false
    }

    fn watches_validation(&self) -> bool {
        self.patience > 0
    }

    fn heeds_sizes(&self) -> bool {
        true
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
