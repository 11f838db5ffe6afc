use crf_core::{Result, Seed, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::optimizers::lbfgs::{is_sufficient_decrease, next_step};
use crate::optimizers::optimizer::{CostFunction, Optimizer, OptimizerState, Point};

/// Projected conjugate gradients on w = w⁺ − w⁻ with w⁺, w⁻ ≥ 0, where an ℓ1 penalty is linear
/// (Vail 2008, §2.4.3).
///
/// Directions are those of Polak and Ribière, for the gradient without the parts that would leave
/// the bounds, and restart when they do not lead down. Between steps at most one of w⁺ and w⁻ is
/// kept above zero, which changes no weight and lowers the penalty. Weights that the penalty sets
/// to zero are exactly zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectedCg {
    /// Maximum number of evaluations per line search; at least 1.
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
        Ok(Box::new(ProjectedCgState {
            evaluations: self.evaluations_per_step,
            projected: halves(),
            direction: halves(),
            square: 0.0,
            last: None,
            trial: Point::new(vec![0.0; f.dim()]),
        }))
    }
}

/// One number for w⁺ and one for w⁻.
type Halves = [f64; 2];

struct ProjectedCgState {
    evaluations: u32,
    projected: Vec<Halves>, // gradient without the parts that leave the bounds
    direction: Vec<Halves>,
    square: f64,              // squared norm of the projected gradient
    last: Option<(f64, f64)>, // last step, and the slope at its start
    trial: Point,
}

/// w⁺ and w⁻ of a weight.
fn halves(w: f64) -> Halves {
    [w.max(0.0), (-w).max(0.0)]
}

/// Fraction to which a line search reduces the slope, as conjugate directions need.
const CURVATURE: f64 = 0.1;

impl OptimizerState for ProjectedCgState {
    fn step(&mut self, f: &mut dyn CostFunction, point: &mut Point) -> Result<bool> {
        let mut slope = self.set_direction(f, point);
        loop {
            let first = match self.last {
                Some((step, before)) => step * (before / slope).min(10.0),
                None => self.square.sqrt().recip(),
            };
            if slope < 0.0 && self.search(f, point, slope, first)? {
                std::mem::swap(point, &mut self.trial);
                return Ok(true);
            }
            if self.last.take().is_none() {
                return Ok(false);
            }
            // The conjugate direction led nowhere: try the gradient itself.
            for (direction, projected) in self.direction.iter_mut().zip(&self.projected) {
                *direction = projected.map(|slope| -slope);
            }
            slope = -self.square;
        }
    }
}

impl ProjectedCgState {
    /// Sets the direction at a point, and returns the slope along it.
    fn set_direction(&mut self, f: &dyn CostFunction, point: &Point) -> f64 {
        let l1 = f.l1();
        let mut square = 0.0;
        let mut change = 0.0;
        for (k, projected) in self.projected.iter_mut().enumerate() {
            let (x, gradient, l1) = (halves(point.w[k]), point.gradient[k], l1.of(k));
            for (half, slope) in [l1 + gradient, l1 - gradient].into_iter().enumerate() {
                let now = if x[half] > 0.0 || slope < 0.0 { slope } else { 0.0 };
                square += now * now;
                change += now * (now - projected[half]);
                projected[half] = now;
            }
        }
        let beta =
            if self.last.is_some() && self.square > 0.0 { (change / self.square).max(0.0) } else { 0.0 };
        self.square = square;
        let mut slope = 0.0;
        for (k, direction) in self.direction.iter_mut().enumerate() {
            let x = halves(point.w[k]);
            for half in 0..2 {
                let along = beta * direction[half] - self.projected[k][half];
                direction[half] = if x[half] > 0.0 || along > 0.0 { along } else { 0.0 };
                slope += direction[half] * self.projected[k][half];
            }
        }
        slope
    }

    /// Line search along the direction, bent where a half would become negative, for a step that
    /// lowers the objective enough and reaches a small slope; leaves it in `trial`.
    fn search(&mut self, f: &mut dyn CostFunction, point: &Point, slope: f64, first: f64) -> Result<bool> {
        let mut low = (0.0, point.value, slope);
        let mut high = (f64::INFINITY, 0.0, 0.0);
        let mut step = first;
        for evaluation in 1..=self.evaluations {
            let ProjectedCgState { trial, direction, .. } = self;
            for (k, direction) in direction.iter().enumerate() {
                let x = halves(point.w[k]);
                let [plus, minus] = [0, 1].map(|half| (x[half] + step * direction[half]).max(0.0));
                trial.w[k] = plus - minus;
            }
            f.evaluate(trial)?;
            let l1 = f.l1();
            let mut trial_slope = 0.0;
            let mut expected = 0.0;
            for (k, direction) in direction.iter().enumerate() {
                let (x, l1) = (halves(point.w[k]), l1.of(k));
                for (half, sign) in [1.0, -1.0].into_iter().enumerate() {
                    let moved = x[half] + step * direction[half];
                    if moved > 0.0 {
                        trial_slope += direction[half] * (l1 + sign * trial.gradient[k]);
                    }
                    expected += (moved.max(0.0) - x[half]) * (l1 + sign * point.gradient[k]);
                }
            }
            let usable = trial.value.is_finite() && trial_slope.is_finite();
            let fell =
                usable && is_sufficient_decrease(point.value, trial.value, expected, [slope, trial_slope]);
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
