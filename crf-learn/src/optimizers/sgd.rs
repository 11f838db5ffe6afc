use crf_core::{Result, Seed, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::optimizers::mini_batches::{MiniBatches, Update};
use crate::optimizers::optimizer::{CostFunction, Optimizer, OptimizerState, PenaltyFactor};

/// Stochastic gradient descent with a cumulative ℓ1 penalty (Tsuruoka, Tsujii & Ananiadou 2009).
///
/// An iteration is an epoch. Weights that the ℓ1 penalty sets to zero are exactly zero: by the end
/// each weight has paid the total penalty so far, whichever batches moved it (figure 2 of the
/// paper, applied to all weights after each batch).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Sgd {
    /// Learning rate η₀ of the first step, on the mean over the positions; above 0.
    pub rate: f64,
    /// Schedule by which the rate falls with the number of epochs e.
    pub schedule: StepSchedule,
    /// Base of the `exponential` schedule; above 0 and at most 1.
    pub decay: f64,
    /// Number of sequences per step; at least 1. If omitted, so many that they are more work than
    /// an update of all weights, but at most a 32nd of all sequences.
    pub batch: Option<u32>,
}

/// Schedule of a learning rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepSchedule {
    /// η₀ throughout.
    Constant,
    /// η₀ / (1 + e) (Collins et al. 2008).
    Inverse,
    /// η₀ · decayᵉ.
    Exponential,
}

impl Default for Sgd {
    fn default() -> Self {
        Sgd { rate: 1.0, schedule: StepSchedule::Inverse, decay: 0.85, batch: None }
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
        let batch = self.batch.unwrap_or_else(|| default_batch(f));
        let penalised = if f.l1().of_all > 0.0 { f.dim() } else { 0 };
        let descent = Descent { settings: self.clone(), due: 0.0, paid: vec![0.0; penalised] };
        Ok(MiniBatches::start(descent, batch, f, seed))
    }
}

/// Number of passes of a step over all weights: layout, clearing and reordering of the sums, and
/// the update.
const PASSES: usize = 4;
/// Minimum number of steps per epoch, if there are as many items.
const MIN_STEPS: usize = 32;

/// Batch size for which a step is worth an update of all weights.
fn default_batch(f: &dyn CostFunction) -> u32 {
    let n_items = f.n_items().max(1);
    let each = (f.work() / n_items).max(1);
    (PASSES * f.dim() / each).clamp(1, n_items.div_ceil(MIN_STEPS)) as u32
}

struct Descent {
    settings: Sgd,
    due: f64,       // total ℓ1 penalty so far, for every weight
    paid: Vec<f64>, // [weights] signed total of the moves by the penalty; empty without one
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
