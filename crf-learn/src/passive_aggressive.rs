use crf_core::{Fit, Learner, Problem, Result, Run, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::averaged::Averaged;
use crate::decoder::Decoder;
use crate::margin::Margin;
use crate::order::Order;
use crate::rounds::{Limits, Progress, Rounds, learn};

/// Passive-aggressive learning (Crammer et al. 2006, §4 and §8), averaged.
///
/// Sequences are decoded one by one with the margin added, in an order drawn anew for each epoch. Where the labelling
/// that violates the margin most does so, the weights take the smallest step that mends it. The objective of the trace is
/// the sum of the hinge losses that were met in the epoch, and the gradient norm the length of the way that the model's
/// weights went in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PassiveAggressive {
    /// C, how far a step may go; above 0.
    pub c: f64,
    /// How slack is punished.
    pub slack: Slack,
    /// By how much the truth shall win.
    pub margin: Margin,
    /// How often to go over the data; at least 1. An epoch that violates no margin is the last.
    pub epochs: u32,
    /// Whether the model has the average of the weights, or the last ones.
    pub average: bool,
    /// With validation data: stop after so many epochs in a row that did not lower the number of wrong positions there,
    /// and keep the weights that were best; 0 does not look at them.
    pub patience: u32,
}

/// How slack ξ is punished.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Slack {
    /// By C·ξ: PA-I, whose steps are cut off at C.
    #[default]
    Linear,
    /// By C·ξ²: PA-II, whose steps are shortened.
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

crf_core::plugin!("learner", PassiveAggressive, "passive-aggressive");

#[typetag::serde(name = "passive-aggressive")]
impl Learner for PassiveAggressive {
    fn check(&self) -> Result<()> {
        require(self.c.is_finite() && self.c > 0.0, "c", "a finite number above 0", self.c)?;
        self.margin.check()?;
        require(self.epochs > 0, "epochs", "at least 1", self.epochs)
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut Run<'_>) -> Result<Fit> {
        const TAG: &str = "passive-aggressive";
        let mut decoder = Decoder::new(problem, &self.margin, TAG)?;
        let model = problem.start_weights()?;
        decoder.take(&model);
        let order = Order::new(decoder.len(), run);
        let weights = Averaged::new(model.clone());
        let epochs = Epochs { settings: self, decoder, order, weights, model, done: 0 };
        learn(epochs, Limits { tag: TAG, rounds: self.epochs, patience: self.patience }, problem, run)
    }
}

impl PassiveAggressive {
    /// τ of equation 14, or of equation 16.
    fn step(&self, excess: f64, square: f64, weight: f64) -> f64 {
        let c = self.c * weight;
        match self.slack {
            Slack::Linear => (excess / square).min(c),
            Slack::Squared => excess / (square + 0.5 / c),
        }
    }
}

struct Epochs<'a> {
    settings: &'a PassiveAggressive,
    decoder: Decoder<'a>,
    order: Order,
    weights: Averaged,
    model: Vec<f64>,
    done: u32,
}

impl Rounds for Epochs<'_> {
    fn round(&mut self) -> Result<Progress> {
        let Epochs { settings, decoder, order, weights, .. } = self;
        let mut hinge = 0.0;
        for &i in order.next() {
            let excess = decoder.most_violating(i, 1.0)?.excess;
            if excess > 0.0 {
                hinge += decoder.weight(i) * excess;
                let step = settings.step(excess, decoder.square(i, None, None), decoder.weight(i));
                decoder.shift(i, None, None, step, |k, change| weights.add(k, change));
            }
            weights.end_turn(1.0, 1.0);
        }
        if settings.average {
            weights.average(&mut self.model);
        } else {
            self.model.clone_from(&weights.now);
        }
        self.done += 1;
        Ok(Progress { objective: hinge, dual: None, evaluations: self.done, done: hinge == 0.0 })
    }

    fn weights(&self) -> &[f64] {
        &self.model
    }
}
