use crf_core::{Fit, FitContext, Learner, Problem, Result, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::margin::loss::Margin;
use crate::margin::online::{OnlineRule, OnlineWeights, learn_online};
use crate::margin::training_loop::RoundLimits;

/// Passive-aggressive learning (Crammer et al. 2006), averaged.
///
/// Sequences are decoded one by one with the margin added, in an order drawn anew for each epoch.
/// Where the margin is violated, the weights take the smallest step that removes the violation of
/// the worst labelling. The objective of the trace is the sum of the hinge losses of the epoch,
/// each measured before its step; the gradient norm is the distance that the weights of the model
/// moved in the epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PassiveAggressive {
    /// C, aggressiveness: limits the length of a step; above 0.
    pub c: f64,
    /// Penalty on slack.
    pub slack: Slack,
    /// Margin by which the truth shall win.
    pub margin: Margin,
    /// Passes over the data; at least 1. An epoch that violates no margin is the last.
    pub epochs: u32,
    /// True if the model has the average of the weights, false if it has the last weights.
    pub average: bool,
    /// Early stopping: epochs without improvement on the validation data (in wrong positions)
    /// before stopping; the best weights are kept. 0 disables it.
    pub patience: u32,
}

/// Penalty on slack ξ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Slack {
    /// C·ξ: PA-I, whose steps are cut off at C.
    #[default]
    Linear,
    /// C·ξ²: PA-II, whose steps are shortened.
    Squared,
}

impl Default for PassiveAggressive {
    fn default() -> Self {
        PassiveAggressive {
            c: 1.0,
            slack: Slack::default(),
            margin: Margin::default(),
            epochs: 20,
            average: true,
            patience: 0,
        }
    }
}

crf_core::plugin!("learner", PassiveAggressive, "passive-aggressive", example = r#"slack = "squared""#);

#[typetag::serde(name = "passive-aggressive")]
impl Learner for PassiveAggressive {
    fn check(&self) -> Result<()> {
        require(self.c.is_finite() && self.c > 0.0, "c", "a finite number above 0", self.c)?;
        self.margin.check()?;
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
        let limits = RoundLimits { tag: "passive-aggressive", rounds: self.epochs, patience: self.patience };
        learn_online(self, &self.margin, self.average, limits, problem, run)
    }
}

impl OnlineRule for &PassiveAggressive {
    fn update(&mut self, weights: &mut OnlineWeights<'_>, i: usize) -> Result<f64> {
        let excess = weights.decoder.most_violating(i, 1.0)?.excess;
        let weight = weights.decoder.weight(i);
        let loss = weight * excess;
        if loss > 0.0 {
            let step = self.step(excess, weights.decoder.square(i, None, None), weight);
            weights.move_towards_truth(i, |_| step);
        }
        Ok(loss)
    }
}

impl PassiveAggressive {
    /// Step length τ of PA-I or PA-II, with C times the weight of the sequence in place of C.
    fn step(&self, excess: f64, square: f64, weight: f64) -> f64 {
        let c = self.c * weight;
        match self.slack {
            Slack::Linear => (excess / square).min(c),
            Slack::Squared => excess / (square + 0.5 / c),
        }
    }
}
