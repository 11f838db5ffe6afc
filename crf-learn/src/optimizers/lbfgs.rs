use crf_core::{Result, Seed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::optimizers::optimizer::{CostFunction, Optimizer, OptimizerState, Point};
use crate::optimizers::quasi_newton::QuasiNewton;

/// Limited-memory quasi-Newton, L-BFGS (Nocedal 1980), with a line search to the weak Wolfe
/// conditions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Lbfgs {
    /// Number of past steps that are remembered; at least 1. If omitted 8, or more where they are
    /// little work beside an evaluation of the objective: few weights on many data then need half
    /// the iterations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u32>,
    /// Maximum number of evaluations per line search; at least 1.
    pub evaluations_per_step: u32,
}

impl Default for Lbfgs {
    fn default() -> Self {
        Lbfgs { memory: None, evaluations_per_step: 30 }
    }
}

crf_core::plugin!("optimizer", Lbfgs, "lbfgs");

#[typetag::serde(name = "lbfgs")]
impl Optimizer for Lbfgs {
    fn check(&self) -> Result<()> {
        QuasiNewton::check(self.memory.unwrap_or(MIN_MEMORY), self.evaluations_per_step)
    }

    fn takes_l1(&self) -> bool {
        false
    }

    fn rotates(&self) -> bool {
        true
    }

    fn start(&self, f: &dyn CostFunction, _seed: &Seed) -> Result<Box<dyn OptimizerState>> {
        let memory = self.memory.unwrap_or_else(|| affordable_memory(f.work(), f.dim()));
        Ok(Box::new(QuasiNewton::new(memory, self.evaluations_per_step, f.dim())?))
    }
}

/// Minimum of the number of steps that are remembered unless the setting says otherwise.
const MIN_MEMORY: u32 = 8;
/// Maximum of that number.
const MAX_MEMORY: u32 = 128;
/// Work per weight that a remembered step is charged with, in additions: products and sums with
/// both of its vectors, and a reserve, so that the memory stays a small part of an iteration.
const WORK_PER_STEP: usize = 32;

/// Number of steps to remember beside evaluations of the given work.
fn affordable_memory(work: usize, dim: usize) -> u32 {
    u32::try_from(work / (WORK_PER_STEP * dim.max(1))).unwrap_or(MAX_MEMORY).clamp(MIN_MEMORY, MAX_MEMORY)
}

/// Constant of the sufficient decrease in the Wolfe conditions.
const DECREASE: f64 = 1e-4;
/// Constant of the curvature in the Wolfe conditions.
const CURVATURE: f64 = 0.9;
/// Maximum relative difference of two values that may be rounding.
const ROUNDING: f64 = 1e-13;

impl OptimizerState for QuasiNewton {
    fn step(&mut self, f: &mut dyn CostFunction, point: &mut Point) -> Result<bool> {
        loop {
            let slope = -self.set_direction(point, &point.gradient);
            if slope < 0.0 && self.search(f, point, slope)? {
                self.accept(point);
                return Ok(true);
            }
            if self.history.is_empty() {
                return Ok(false);
            }
            // The remembered steps led nowhere: try the gradient itself.
            self.history.clear();
        }
    }
}

impl QuasiNewton {
    /// Line search along −direction for a step that lowers the objective enough and is not too
    /// short; leaves it in `trial`.
    ///
    /// Bracketing as Lewis & Overton (2013), with cubic interpolation inside the bracket.
    fn search(&mut self, f: &mut dyn CostFunction, point: &Point, slope: f64) -> Result<bool> {
        let mut low = (0.0, point.value, slope);
        let mut high = (f64::INFINITY, 0.0, 0.0);
        let mut step = 1.0;
        for evaluation in 1..=self.evaluations {
            let trial = &mut self.trial;
            self.passes.update(&mut trial.w, |start, trial| {
                for ((trial, w), d) in trial.iter_mut().zip(&point.w[start..]).zip(&self.direction[start..]) {
                    *trial = w - step * f64::from(*d);
                }
                [0.0; 4]
            });
            f.evaluate(trial)?;
            let trial_slope = -self.passes.dot(&self.direction, &trial.gradient);
            let usable = trial.value.is_finite() && trial_slope.is_finite();
            let fell = is_sufficient_decrease(point.value, trial.value, step * slope, [slope, trial_slope]);
            if !usable || !fell {
                high = (step, if usable { trial.value } else { f64::INFINITY }, trial_slope);
            } else if trial_slope < CURVATURE * slope && evaluation < self.evaluations {
                low = (step, trial.value, trial_slope);
            } else {
                return Ok(true);
            }
            match next_step(step, low, high) {
                Some(next) => step = next,
                None => break,
            }
        }
        Ok(false)
    }
}

/// True if a step from one value to another decreased it enough; `expected` is the decrease that
/// the first slope promised.
///
/// Near the optimum values differ by rounding only; there the slopes decide (Hager & Zhang 2005,
/// equation 4.1).
pub(crate) fn is_sufficient_decrease(from: f64, to: f64, expected: f64, slopes: [f64; 2]) -> bool {
    to <= from + DECREASE * expected
        || (to <= from + ROUNDING * from.abs() && slopes[1] <= (2.0 * DECREASE - 1.0) * slopes[0])
}

/// Next step to try; `None` once the bracket has shrunk to a point. `low` and `high` are (step,
/// value, slope).
pub(crate) fn next_step(step: f64, low: (f64, f64, f64), high: (f64, f64, f64)) -> Option<f64> {
    let next = if high.0 == f64::INFINITY { 2.0 * step } else { cubic_minimum(low, high) };
    (next > 0.0 && next != low.0 && next != high.0).then_some(next)
}

/// Minimum of the cubic through two points with their slopes, kept away from the ends of the
/// bracket.
fn cubic_minimum(low: (f64, f64, f64), high: (f64, f64, f64)) -> f64 {
    let width = high.0 - low.0;
    let d = low.2 + high.2 - 3.0 * (high.1 - low.1) / width;
    let root = (d * d - low.2 * high.2).sqrt();
    let part = (root + d - low.2) / (high.2 - low.2 + 2.0 * root);
    // A NaN (no minimum, or an infinite end) halves the bracket.
    low.0 + width * if part.is_finite() { part.clamp(0.1, 0.9) } else { 0.5 }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use crf_core::{FitContext, Stop, Trace};
    use proptest::prelude::*;

    use super::*;
    use crate::optimizers::optimizer::{PenaltyFactor, StopRule, minimise};

    /// Σ c_k (w_k − 1)² / 2.
    struct Quadratic {
        curvature: Vec<f64>,
        evaluations: u32,
    }

    impl CostFunction for Quadratic {
        fn dim(&self) -> usize {
            self.curvature.len()
        }

        fn l1(&self) -> PenaltyFactor<'_> {
            PenaltyFactor { of_all: 0.0, spared: &[] }
        }

        fn l2(&self) -> PenaltyFactor<'_> {
            PenaltyFactor { of_all: 0.0, spared: &[] }
        }

        fn n_items(&self) -> usize {
            1
        }

        fn n_positions(&self) -> f64 {
            1.0
        }

        fn work(&self) -> usize {
            0
        }

        fn evaluations(&self) -> u32 {
            self.evaluations
        }

        fn evaluate(&mut self, point: &mut Point) -> Result<()> {
            self.evaluations += 1;
            let distance = |w: &f64| w - 1.0;
            point.value =
                self.curvature.iter().zip(&point.w).map(|(c, w)| 0.5 * c * distance(w).powi(2)).sum();
            for ((slope, c), w) in point.gradient.iter_mut().zip(&self.curvature).zip(&point.w) {
                *slope = c * distance(w);
            }
            point.gradient_norm = point.gradient.iter().map(|slope| slope * slope).sum::<f64>().sqrt();
            point.length = point.w.iter().map(|w| w * w).sum::<f64>().sqrt();
            Ok(())
        }

        fn evaluate_some(&mut self, _: &[usize], _: &[f64], _: &mut [f64]) -> Result<()> {
            unreachable!("it is no sum")
        }
    }

    fn minimum(curvature: Vec<f64>, rule: &StopRule) -> (Vec<f64>, Trace) {
        let mut w = vec![0.0; curvature.len()];
        let mut f = Quadratic { curvature, evaluations: 0 };
        let mut go_on = |_: &_| ControlFlow::Continue(());
        let mut run = FitContext::new(Seed::new(1), &mut go_on);
        let trace = minimise(&mut f, &mut w, &Lbfgs::default(), rule, None, Vec::new(), &mut run).unwrap();
        (w, trace)
    }

    #[test]
    fn steps_of_great_curvature_are_remembered() {
        // A column of 922², as readings of a sensor are, gives 1,800 rows such a curvature.
        let rule = StopRule { iterations: 60, delta: 0.0, ..StopRule::default() };
        let (w, trace) = minimum(vec![1e15, 1e16, 1e18, 1e20], &rule);
        assert!(w.iter().all(|w| (w - 1.0).abs() < 1e-3), "{w:?} after {:?}", trace.iterations.last());
        assert_ne!(trace.stop, Stop::Budget);
    }

    #[test]
    fn a_plateau_with_a_large_gradient_is_said_to_be_none() {
        // Falls by less than 90 % an iteration are called a plateau here, and are no minimum.
        let early = StopRule { delta: 9.0, period: 1, ..StopRule::default() };
        for (rule, said) in [(StopRule { tolerance: 0.0, ..StopRule::default() }, 0), (early, 1)] {
            let curvature = vec![1.0, 3.0, 1e2, 1e4];
            let ((_, trace), warnings) = crf_testing::warnings(|| minimum(curvature, &rule));
            let about = warnings.iter().filter(|text| text.starts_with("the objective hardly falls, but"));
            assert_eq!(about.count(), said, "{warnings:?} {:?}", trace.iterations.last());
            assert!(said == 0 || trace.stop == Stop::Plateau);
        }
    }

    proptest! {
        #![proptest_config(crf_testing::cases(50))]

        #[test]
        fn the_unit_of_the_objective_changes_no_step(
            logs in proptest::collection::vec(-3.0..3.0_f64, 1..12),
            unit in -60..60_i32,
        ) {
            let rule = StopRule { iterations: 12, delta: 0.0, tolerance: 0.0, ..StopRule::default() };
            let curvature = |unit: f64| logs.iter().map(|log| unit * log.exp()).collect::<Vec<f64>>();
            let (once, _) = minimum(curvature(1.0), &rule);
            let (scaled, _) = minimum(curvature(2.0_f64.powi(unit)), &rule);
            prop_assert_eq!(once, scaled);
        }
    }
}
