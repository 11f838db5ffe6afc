use crf_core::{Result, Seed, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::optimizers::lbfgs::{next_step, went_down};
use crate::optimizers::optimizer::{CostFunction, Optimizer, OptimizerState, Point};

/// Projected conjugate gradients on w = w⁺ − w⁻ with w⁺, w⁻ ≥ 0, where an ℓ1 penalty is linear (Vail 2008, §2.4.3).
///
/// Directions are Polak and Ribière's, of the gradient without what would lead out of the bounds, and begin anew when they
/// do not lead down. Between steps at most one of w⁺ and w⁻ is kept above zero, which changes no weight and lowers the
/// penalty. Weights that the penalty wants to be zero are exactly zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectedCg {
    /// How often a line search may evaluate the objective; at least 1.
    pub evaluations_per_step: u32,
}

impl Default for ProjectedCg {
    fn default() -> Self {
        ProjectedCg { evaluations_per_step: 30 }
    }
}

crf_core::plugin!("optimizer", ProjectedCg, "projected-cg");

#[typetag::serde(name = "projected-cg")]
impl Optimizer for ProjectedCg {
    fn check(&self) -> Result<()> {
        let evaluations = self.evaluations_per_step;
        require(evaluations > 0, "evaluations_per_step", "at least 1", evaluations)
    }

    fn takes_l1(&self) -> bool {
        true
    }

    fn start(&self, f: &dyn CostFunction, _seed: &Seed) -> Result<Box<dyn OptimizerState>> {
        let halves = || vec![Halves::default(); f.dim()];
        Ok(Box::new(Started {
            evaluations: self.evaluations_per_step,
            projected: halves(),
            direction: halves(),
            length: 0.0,
            last: None,
            trial: Point::new(vec![0.0; f.dim()]),
        }))
    }
}

/// A number for w⁺ and one for w⁻.
type Halves = [f64; 2];

struct Started {
    evaluations: u32,
    projected: Vec<Halves>, // the gradient where it does not lead out of the bounds
    direction: Vec<Halves>,
    length: f64,              // the square of the projected gradient
    last: Option<(f64, f64)>, // the last step and the slope at its start
    trial: Point,
}

/// w⁺ and w⁻ of a weight.
fn halves(w: f64) -> Halves {
    [w.max(0.0), (-w).max(0.0)]
}

/// A slope conjugate directions want to see reduced to this fraction.
const CURVATURE: f64 = 0.1;

impl OptimizerState for Started {
    fn step(&mut self, f: &mut dyn CostFunction, at: &mut Point) -> Result<bool> {
        let mut slope = self.turn(f, at);
        loop {
            let first = match self.last {
                Some((step, before)) => step * (before / slope).min(10.0),
                None => self.length.sqrt().recip(),
            };
            if slope < 0.0 && self.search(f, at, slope, first)? {
                std::mem::swap(at, &mut self.trial);
                return Ok(true);
            }
            if self.last.take().is_none() {
                return Ok(false);
            }
            // What was remembered led nowhere: once more along the gradient itself.
            for (direction, projected) in self.direction.iter_mut().zip(&self.projected) {
                *direction = projected.map(|slope| -slope);
            }
            slope = -self.length;
        }
    }
}

impl Started {
    /// Sets the direction at a point, and returns the slope along it.
    fn turn(&mut self, f: &dyn CostFunction, at: &Point) -> f64 {
        let (l1, mut length, mut change) = (f.l1(), 0.0, 0.0);
        for (k, projected) in self.projected.iter_mut().enumerate() {
            let (x, gradient, l1) = (halves(at.w[k]), at.gradient[k], l1.of(k));
            for (half, slope) in [l1 + gradient, l1 - gradient].into_iter().enumerate() {
                let now = if x[half] > 0.0 || slope < 0.0 { slope } else { 0.0 };
                length += now * now;
                change += now * (now - projected[half]);
                projected[half] = now;
            }
        }
        let beta =
            if self.last.is_some() && self.length > 0.0 { (change / self.length).max(0.0) } else { 0.0 };
        self.length = length;
        let mut slope = 0.0;
        for (k, direction) in self.direction.iter_mut().enumerate() {
            let x = halves(at.w[k]);
            for half in 0..2 {
                let along = beta * direction[half] - self.projected[k][half];
                direction[half] = if x[half] > 0.0 || along > 0.0 { along } else { 0.0 };
                slope += direction[half] * self.projected[k][half];
            }
        }
        slope
    }

    /// Looks for a step along the direction, bent where a half would become negative, that goes down far enough and to where
    /// the slope is small; leaves it in `trial`.
    fn search(&mut self, f: &mut dyn CostFunction, at: &Point, slope: f64, first: f64) -> Result<bool> {
        let (mut low, mut high) = ((0.0, at.value, slope), (f64::INFINITY, 0.0, 0.0));
        let mut step = first;
        for evaluation in 1..=self.evaluations {
            let Started { trial, direction, .. } = self;
            for (k, direction) in direction.iter().enumerate() {
                let x = halves(at.w[k]);
                let [plus, minus] = [0, 1].map(|half| (x[half] + step * direction[half]).max(0.0));
                trial.w[k] = plus - minus;
            }
            f.evaluate(trial)?;
            let (l1, mut trial_slope, mut expected) = (f.l1(), 0.0, 0.0);
            for (k, direction) in direction.iter().enumerate() {
                let (x, l1) = (halves(at.w[k]), l1.of(k));
                for (half, sign) in [1.0, -1.0].into_iter().enumerate() {
                    let moved = x[half] + step * direction[half];
                    if moved > 0.0 {
                        trial_slope += direction[half] * (l1 + sign * trial.gradient[k]);
                    }
                    expected += (moved.max(0.0) - x[half]) * (l1 + sign * at.gradient[k]);
                }
            }
            let usable = trial.value.is_finite() && trial_slope.is_finite();
            let fell = usable && went_down(at.value, trial.value, expected, [slope, trial_slope]);
            let last = evaluation == self.evaluations;
            if !fell {
                high = (step, if usable { trial.value } else { f64::INFINITY }, trial_slope);
            } else if trial_slope.abs() <= -CURVATURE * slope || last {
                self.last = Some((step, slope));
                return Ok(true);
            } else if trial_slope < 0.0 {
                low = (step, trial.value, trial_slope);
            } else {
                high = (step, trial.value, trial_slope);
            }
            match next_step(step, low, high) {
                Some(next) => step = next,
                None => break,
            }
        }
        Ok(false)
    }
}
