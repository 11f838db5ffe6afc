use crf_core::{Result, Seed, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::optimizers::mini_batches::{MiniBatches, Update};
use crate::optimizers::optimizer::{CostFunction, Optimizer, OptimizerState, PenaltyFactor};

/// Adam: steps by running means of the gradient and of its square (Kingma & Ba 2015, algorithm 1).
///
/// An iteration is an epoch. The ℓ2 penalty is part of the gradient, as in the paper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Adam {
    /// Learning rate α, about the distance that a weight moves in a step; above 0.
    pub rate: f64,
    /// Number of sequences per step; at least 1.
    pub batch: u32,
    /// β₁, decay of the mean of the gradient; in [0, 1).
    pub beta1: f64,
    /// β₂, decay of the mean of the squared gradient; in [0, 1).
    pub beta2: f64,
    /// ε, added to the root of the mean square; above 0.
    pub epsilon: f64,
}

impl Default for Adam {
    fn default() -> Self {
        Adam { rate: 0.03, batch: 16, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 }
    }
}

crf_core::plugin!("optimizer", Adam, "adam");

#[typetag::serde(name = "adam")]
impl Optimizer for Adam {
    fn check(&self) -> Result<()> {
        require(self.rate.is_finite() && self.rate > 0.0, "rate", "a finite number above 0", self.rate)?;
        require(self.batch > 0, "batch", "at least 1", self.batch)?;
        for (key, beta) in [("beta1", self.beta1), ("beta2", self.beta2)] {
            require((0.0..1.0).contains(&beta), key, "at least 0 and below 1", beta)?;
        }
        let fine = self.epsilon.is_finite() && self.epsilon > 0.0;
        require(fine, "epsilon", "a finite number above 0", self.epsilon)
    }

    fn takes_l1(&self) -> bool {
        false
    }

    fn start(&self, f: &dyn CostFunction, seed: &Seed) -> Result<Box<dyn OptimizerState>> {
        let zeros = || vec![0.0; f.dim()];
        let moments = Moments { settings: self.clone(), mean: zeros(), square: zeros(), weight: [1.0; 2] };
        Ok(MiniBatches::start(moments, self.batch, f, seed))
    }
}

struct Moments {
    settings: Adam,
    mean: Vec<f64>,   // m_t
    square: Vec<f64>, // v_t
    weight: [f64; 2], // β₁ᵗ and β₂ᵗ, remaining weights of the initial zeros
}

impl Update for Moments {
    fn update(&mut self, w: &mut [f64], gradient: &[f64], _l1: PenaltyFactor<'_>, _epoch: f64) {
        let Adam { rate, beta1, beta2, epsilon, .. } = self.settings;
        self.weight = [self.weight[0] * beta1, self.weight[1] * beta2];
        let [of_mean, of_square] = self.weight.map(|weight| (1.0 - weight).recip());
        for k in 0..w.len() {
            let (slope, mean, square) = (gradient[k], &mut self.mean[k], &mut self.square[k]);
            *mean = beta1 * *mean + (1.0 - beta1) * slope;
            *square = beta2 * *square + (1.0 - beta2) * slope * slope;
            w[k] -= rate * (of_mean * *mean) / ((of_square * *square).sqrt() + epsilon);
        }
    }
}
