use crf_core::{Result, Seed, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::optimizers::mini_batches::{MiniBatches, Update};
use crate::optimizers::optimizer::{CostFunction, Optimizer, OptimizerState, PenaltyFactor};

/// Stochastic gradient descent, with a cumulative ℓ1 penalty (Tsuruoka, Tsujii & Ananiadou 2009).
///
/// An iteration is an epoch. The weights that the ℓ1 penalty wants to be zero are zero: each weight pays by the end what
/// the penalty came to so far, whichever batches moved it (figure 2 there, applied to all weights after each batch).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sgd {
    /// The first step's rate η₀, on the mean over the sequences; above 0.
    pub rate: f64,
    /// How the rate falls with the number of epochs e.
    pub schedule: StepSchedule,
    /// The base of the `exponential` schedule; above 0 and at most 1.
    pub decay: f64,
    /// How many sequences a step looks at; at least 1. When left out, as many that they are more work than a change of all
    /// weights, but no more than a 32nd of all.
    pub batch: Option<u32>,
}

/// How a rate falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepSchedule {
    /// η₀, always.
    Constant,
    /// η₀ / (1 + e) (Collins et al. 2008).
    Inverse,
    /// η₀ · decayᵉ.
    Exponential,
}

impl Default for Sgd {
    fn default() -> Self {
        Sgd { rate: 0.1, schedule: StepSchedule::Inverse, decay: 0.85, batch: None }
    }
}

crf_core::plugin!("optimizer", Sgd, "sgd");

#[typetag::serde(name = "sgd")]
impl Optimizer for Sgd {
    fn check(&self) -> Result<()> {
        require(self.rate.is_finite() && self.rate > 0.0, "rate", "a finite number above 0", self.rate)?;
        require(self.decay > 0.0 && self.decay <= 1.0, "decay", "above 0 and at most 1", self.decay)?;
        require(self.batch != Some(0), "batch", "at least 1", 0)
    }

    fn takes_l1(&self) -> bool {
        true
    }

    fn start(&self, f: &dyn CostFunction, seed: &Seed) -> Result<Box<dyn OptimizerState>> {
        let batch = self.batch.unwrap_or_else(|| worthwhile(f));
        let penalised = if f.l1().of_all > 0.0 { f.dim() } else { 0 };
        let descent = Descent { settings: self.clone(), due: 0.0, paid: vec![0.0; penalised] };
        MiniBatches::start("sgd", descent, batch, f, seed)
    }
}

/// How many times a step goes over all weights: they are laid out, their sums cleared and put in order, and they are changed.
const PASSES: usize = 4;
/// An epoch has at least so many steps, if there are as many items.
const LEAST_STEPS: usize = 32;

/// A batch that is worth a change of all weights.
fn worthwhile(f: &dyn CostFunction) -> u32 {
    let n_items = f.n_items().unwrap_or(1).max(1);
    let each = (f.work() / n_items).max(1);
    (PASSES * f.dim() / each).clamp(1, n_items.div_ceil(LEAST_STEPS)) as u32
}

struct Descent {
    settings: Sgd,
    due: f64,       // what the ℓ1 penalty came to, for every weight
    paid: Vec<f64>, // [weights] what each was moved by it, with the sign of the move; empty without a penalty
}

impl Update for Descent {
    fn update(&mut self, w: &mut [f64], gradient: &[f64], l1: PenaltyFactor<'_>, epoch: f64) {
        let Sgd { rate, schedule, decay, .. } = self.settings;
        let rate = match schedule {
            StepSchedule::Constant => rate,
            StepSchedule::Inverse => rate / (1.0 + epoch),
            StepSchedule::Exponential => rate * decay.powf(epoch),
        };
        w.iter_mut().zip(gradient).for_each(|(w, slope)| *w -= rate * slope);
        self.due += rate * l1.of_all;
        for (k, (w, paid)) in w.iter_mut().zip(&mut self.paid).enumerate() {
            if l1.of(k) > 0.0 && *w != 0.0 {
                let before = *w;
                *w = match *w > 0.0 {
                    true => (*w - (self.due + *paid)).max(0.0),
                    false => (*w + (self.due - *paid)).min(0.0),
                };
                *paid += *w - before;
            }
        }
    }
}
