use crf_core::{Result, Seed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::optimizers::optimizer::{CostFunction, Optimizer, OptimizerState, Point, pseudo_gradient};
use crate::optimizers::quasi_newton::QuasiNewton;

/// Orthant-wise limited-memory quasi-Newton, OWL-QN (Andrew & Gao 2007): L-BFGS for penalties with
/// an ℓ1 part.
///
/// Weights that the ℓ1 penalty sets to zero are exactly zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OwlQn {
    /// Number of past steps that are remembered; at least 1.
    pub memory: u32,
    /// Maximum number of evaluations per line search; at least 1.
    pub evaluations_per_step: u32,
}

impl Default for OwlQn {
    fn default() -> Self {
        OwlQn { memory: 6, evaluations_per_step: 30 }
    }
}

crf_core::plugin!("optimizer", OwlQn, "owl-qn");

#[typetag::serde(name = "owl-qn")]
impl Optimizer for OwlQn {
    fn check(&self) -> Result<()> {
        QuasiNewton::check(self.memory, self.evaluations_per_step)
    }

    fn takes_l1(&self) -> bool {
        true
    }

    fn start(&self, f: &dyn CostFunction, _seed: &Seed) -> Result<Box<dyn OptimizerState>> {
        let quasi_newton = QuasiNewton::new(self.memory, self.evaluations_per_step, f.dim())?;
        Ok(Box::new(OwlQnState { quasi_newton, pseudo: vec![0.0; f.dim()] }))
    }
}

struct OwlQnState {
    quasi_newton: QuasiNewton,
    pseudo: Vec<f64>,
}

impl OptimizerState for OwlQnState {
    fn step(&mut self, f: &mut dyn CostFunction, point: &mut Point) -> Result<bool> {
        loop {
            let l1 = f.l1();
            self.quasi_newton.passes.update(&mut self.pseudo, |start, pseudo| {
                for (k, pseudo) in (start..).zip(pseudo) {
                    *pseudo = pseudo_gradient(point.w[k], point.gradient[k], l1.of(k));
                }
                [0.0; 4]
            });
            self.quasi_newton.set_direction(point, &self.pseudo);
            for (d, pseudo) in self.quasi_newton.direction.iter_mut().zip(&self.pseudo) {
                // Only moves against the pseudo-gradient are sure to lower the objective.
                if f64::from(*d) * pseudo <= 0.0 {
                    *d = 0.0;
                }
            }
            if self.search(f, point)? {
                self.quasi_newton.accept(point);
                return Ok(true);
            }
            if self.quasi_newton.history.is_empty() {
                return Ok(false);
            }
            self.quasi_newton.history.clear();
        }
    }
}

impl OwlQnState {
    /// Halves the step until the objective falls enough; leaves the point in `trial`.
    fn search(&mut self, f: &mut dyn CostFunction, point: &Point) -> Result<bool> {
        let mut step = 1.0;
        for _ in 0..self.quasi_newton.evaluations {
            let trial = &mut self.quasi_newton.trial;
            let (l1, pseudo, direction) = (f.l1(), &self.pseudo, &self.quasi_newton.direction);
            let [expected, ..] = self.quasi_newton.passes.update(&mut trial.w, |start, trial| {
                let mut expected = 0.0;
                for (k, trial) in (start..).zip(trial) {
                    let w = point.w[k];
                    // A weight may not change its sign; a weight of zero may only take the sign
                    // that lowers the objective.
                    let orthant = if w != 0.0 { w } else { -pseudo[k] };
                    let moved = w - step * f64::from(direction[k]);
                    // An unpenalised weight has no kink at zero and may cross it.
                    *trial = if moved * orthant > 0.0 || l1.of(k) == 0.0 { moved } else { 0.0 };
                    expected += pseudo[k] * (*trial - w);
                }
                [expected, 0.0, 0.0, 0.0]
            });
            if expected >= 0.0 {
                return Ok(false);
            }
            f.evaluate(trial)?;
            if trial.value.is_finite() && trial.value <= point.value + 1e-4 * expected {
                return Ok(true);
            }
            step *= 0.5;
        }
        Ok(false)
    }
}
