use crf_core::{Fit, FitContext, Learner, Problem, Result, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::margin::loss::Margin;
use crate::margin::online::{OnlineRule, OnlineWeights, learn_online};
use crate::margin::training_loop::RoundLimits;

/// Adaptive regularisation of weights, AROW (Crammer, Kulesza & Dredze 2009), with a diagonal
/// covariance.
///
/// Every weight has a mean w_k and a variance v_k, which shrinks each time the weight is part of an
/// update: weights of frequent features settle early, those of rare features still take large
/// steps. Sequences are decoded one by one, in an order drawn anew for each epoch. With y the
/// labelling that was found, x = F(x_i, y_i) − F(x_i, y) and r = gamma, a wrong answer changes
///
/// ```text
/// w_k += α v_k x_k,    1/v_k += x_k² / r,    α = (wrong positions − w·x) / (Σ_k x_k² v_k + r)
/// ```
///
/// This is the paper's algorithm for structured labels as CRFsuite's `arow` has it: y is the best
/// labelling without a margin added to its score, and the margin that the truth shall have is the
/// number of wrong positions. CRFsuite's own defaults are `epochs = 100` and `average = false`;
/// averaging removes the noise of the last updates, which is large where data are noisy. A sequence
/// of weight c has r / c for r, as if both loss and confidence counted c times.
///
/// The objective of the trace is the sum of the hinge losses of the epoch, each measured before its
/// update; the gradient norm is the distance that the weights of the model moved in the epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Arow {
    /// Variance of every weight before the first update; above 0. Larger values take larger first
    /// steps.
    pub variance: f64,
    /// Regularisation r of the updates; above 0. Larger values take smaller steps and shrink
    /// variances more slowly.
    pub gamma: f64,
    /// Passes over the data; at least 1. An epoch without a mistake is the last.
    pub epochs: u32,
    /// True if the model has the average of the weights after all updates, false if it has the last
    /// weights.
    pub average: bool,
    /// Early stopping: epochs without improvement on the validation data (in wrong positions)
    /// before stopping; the best weights are kept. 0 disables it.
    pub patience: u32,
}

impl Default for Arow {
    fn default() -> Self {
        Arow { variance: 1.0, gamma: 1.0, epochs: 20, average: true, patience: 0 }
    }
}

crf_core::plugin!("learner", Arow, "arow", example = "epochs = 3");

#[typetag::serde(name = "arow")]
impl Learner for Arow {
    fn check(&self) -> Result<()> {
        let is_positive = |value: f64| value.is_finite() && value > 0.0;
        require(is_positive(self.variance), "variance", "a finite number above 0", self.variance)?;
        require(is_positive(self.gamma), "gamma", "a finite number above 0", self.gamma)?;
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
        let variances = vec![self.variance; problem.map.len()];
        let rule = ArowRule { gamma: self.gamma, variances, difference: Vec::new() };
        let limits = RoundLimits { tag: "arow", rounds: self.epochs, patience: self.patience };
        learn_online(rule, &Margin::default(), self.average, limits, problem, run)
    }
}

struct ArowRule {
    gamma: f64,
    variances: Vec<f64>,           // [weights]
    difference: Vec<(usize, f64)>, // x, the entries that are not 0
}

impl OnlineRule for ArowRule {
    fn update(&mut self, weights: &mut OnlineWeights<'_>, i: usize) -> Result<f64> {
        let n_wrong = weights.decoder.mistakes(i)?;
        if n_wrong == 0 {
            return Ok(0.0);
        }
        let ArowRule { gamma, variances, difference } = self;
        difference.clear();
        difference.extend(weights.decoder.difference(i, None, None));
        let lead: f64 = difference.iter().map(|&(k, x)| weights.now()[k] * x).sum();
        // An approximate decoder may miss the best labelling, and what it finds be far behind the
        // truth.
        let loss = (n_wrong as f64 - lead).max(0.0);
        let weight = weights.decoder.weight(i);
        let r = *gamma / weight;
        let confidence: f64 = difference.iter().map(|&(k, x)| x * x * variances[k]).sum();
        let alpha = loss / (confidence + r);
        if alpha > 0.0 {
            weights.move_towards_truth(i, |k| alpha * variances[k]);
            for &(k, x) in &*difference {
                variances[k] = 1.0 / (1.0 / variances[k] + x * x / r);
            }
        }
        Ok(weight * loss)
    }
}
