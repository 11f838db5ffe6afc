use std::collections::VecDeque;
use std::fmt::Debug;

use crf_core::{Error, FitContext, Iteration, Result, Seed, Stop, Trace, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::training::early_stopping::EarlyStopping;

/// The function that an optimizer minimises: a smooth part, plus Σ l1_k |w_k|.
pub trait CostFunction {
    /// Number of weights.
    fn dim(&self) -> usize;
    /// Factor of each |w_k|.
    fn l1(&self) -> PenaltyFactor<'_>;
    /// Factor of each w_k²/2.
    fn l2(&self) -> PenaltyFactor<'_>;
    /// Number of items that the function is a sum over, penalties aside.
    fn n_items(&self) -> usize;
    /// Sum of the weights of all positions of the items.
    fn n_positions(&self) -> f64;
    /// Work of all items together, as a number of additions.
    fn work(&self) -> usize;
    /// Number of evaluations so far.
    fn evaluations(&self) -> u32;
    /// Fills in value, gradient and norms of a point from its weights.
    fn evaluate(&mut self, point: &mut Point) -> Result<()>;
    /// Writes the gradient of the sum over some items at `w`, without that of the penalty.
    fn evaluate_some(&mut self, items: &[usize], w: &[f64], gradient: &mut [f64]) -> Result<()>;
}

/// Factor of a penalty: the same for all weights, 0 for spared ones.
#[derive(Debug, Clone, Copy)]
pub struct PenaltyFactor<'a> {
    /// Factor of all weights that are not spared.
    pub of_all: f64,
    /// True for each spared weight; empty if none is.
    pub spared: &'a [bool],
}

impl PenaltyFactor<'_> {
    /// Factor of weight `k`.
    #[inline]
    pub fn of(&self, k: usize) -> f64 {
        if self.spared.get(k) == Some(&true) { 0.0 } else { self.of_all }
    }
}

/// An optimizer; the loop around its steps is [`minimise`].
#[typetag::serde(tag = "type")]
pub trait Optimizer: Debug + Send + Sync {
    /// Rejects settings that can never work.
    fn check(&self) -> Result<()>;
    /// True if it can minimise a function with an ℓ1 penalty.
    fn takes_l1(&self) -> bool;
    /// True if its steps depend on inner products alone: rotated coordinates give rotated steps.
    fn rotates(&self) -> bool {
        false
    }
    /// Allocates all that steps on `f` need, or refuses `f`.
    fn start(&self, f: &dyn CostFunction, seed: &Seed) -> Result<Box<dyn OptimizerState>>;
}

/// State of a started optimizer.
pub trait OptimizerState {
    /// Moves `point` to better weights, or to weights on the way to better ones; false if it could
    /// not.
    fn step(&mut self, f: &mut dyn CostFunction, point: &mut Point) -> Result<bool>;
    /// True if no step raises the function.
    fn descends(&self) -> bool {
        true
    }
}

/// A point of the minimisation.
#[derive(Debug)]
pub struct Point {
    /// The weights.
    pub w: Vec<f64>,
    /// Gradient of the smooth part.
    pub gradient: Vec<f64>,
    /// Value, ℓ1 penalty included.
    pub value: f64,
    /// Norm of the pseudo-gradient, which is the gradient where no weight has an ℓ1 penalty.
    pub gradient_norm: f64,
    /// Norm of the weights.
    pub length: f64,
    /// Number of weights that are not zero.
    pub non_zeros: usize,
}

impl Clone for Point {
    fn clone(&self) -> Self {
        Point { w: self.w.clone(), gradient: self.gradient.clone(), ..*self }
    }

    /// Copies all numbers without allocating.
    fn clone_from(&mut self, from: &Self) {
        let Point { w, gradient, value, gradient_norm, length, non_zeros } = self;
        w.clone_from(&from.w);
        gradient.clone_from(&from.gradient);
        (*value, *gradient_norm, *length, *non_zeros) =
            (from.value, from.gradient_norm, from.length, from.non_zeros);
    }
}

impl Point {
    /// A point of which only the weights are known yet.
    pub fn new(w: Vec<f64>) -> Self {
        let gradient = vec![0.0; w.len()];
        Point { w, gradient, value: 0.0, gradient_norm: 0.0, length: 0.0, non_zeros: 0 }
    }
}

/// Stopping rule of a minimisation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StopRule {
    /// Maximum number of iterations.
    pub iterations: u32,
    /// Tolerance of the gradient: converged when its norm is at most this times max(1, ‖w‖).
    pub tolerance: f64,
    /// Tolerance of the objective: stop when it fell by less than this fraction over `period`
    /// iterations. With `sgd` and `adam`, whose objective may rise on the way, its means over two
    /// periods are compared. 0 disables it.
    pub delta: f64,
    /// Number of iterations over which `delta` is measured; at least 1.
    pub period: u32,
}

impl Default for StopRule {
    fn default() -> Self {
        StopRule { iterations: 1000, tolerance: 1e-5, delta: 1e-5, period: 10 }
    }
}

impl StopRule {
    /// Rejects rules that can never work.
    pub fn check(&self) -> Result<()> {
        let fine = |x: f64| x.is_finite() && x >= 0.0;
        require(fine(self.tolerance), "tolerance", "a finite number of at least 0", self.tolerance)?;
        require(fine(self.delta), "delta", "a finite number of at least 0", self.delta)?;
        require(self.period > 0, "period", "at least 1", self.period)
    }
}

/// Norm of the gradient on a plateau, as a part of that at weights of zero, from which on it says
/// that the steps are bad rather than that the minimum is near.
const STEEP: f64 = 1e-3;

/// Minimises `f` from `w`, step by step, until a rule or `early_stopping` says stop. `w` ends as
/// the best weights found: with early stopping those that did best on the validation data. The
/// trace continues the iterations `before`.
pub fn minimise(
    f: &mut dyn CostFunction,
    w: &mut Vec<f64>,
    optimizer: &dyn Optimizer,
    rule: &StopRule,
    mut early_stopping: Option<EarlyStopping<'_>>,
    before: Vec<Iteration>,
    run: &mut FitContext<'_>,
) -> Result<Trace> {
    assert_eq!(w.len(), f.dim(), "one starting weight per feature");
    let own = f.evaluations();
    let mut steps = optimizer.start(f, &run.seed)?;
    let mut point = Point::new(std::mem::take(w));
    f.evaluate(&mut point)?;
    // Evaluations of earlier iterations that were not of `f`.
    let others = before.last().map_or(0, |last| last.evaluations).saturating_sub(own);
    let trace = run_steps(f, &mut point, &mut *steps, rule, early_stopping.as_mut(), (before, others), run)?;
    *w = early_stopping.and_then(EarlyStopping::best).unwrap_or(point.w);
    Ok(trace)
}

/// The loop of [`minimise`], from a point that was evaluated and a started optimizer. An optimizer
/// that knows the curvature of the function from earlier minimisations continues with that.
/// `before` are the iterations that the trace continues, and the number of their evaluations that
/// were not of `f`.
pub fn run_steps(
    f: &mut dyn CostFunction,
    point: &mut Point,
    steps: &mut dyn OptimizerState,
    rule: &StopRule,
    mut early_stopping: Option<&mut EarlyStopping<'_>>,
    before: (Vec<Iteration>, u32),
    run: &mut FitContext<'_>,
) -> Result<Trace> {
    let (mut iterations, evaluations) = before;
    for (what, number) in [("objective", point.value), ("norm of the gradient", point.gradient_norm)] {
        if !number.is_finite() {
            let message = format!("the {what} at the starting weights is {number}; scale the features");
            return Err(Error::NotFinite(message));
        }
    }
    let n_before = iterations.len();
    // A gradient at other weights may be small already.
    let first_norm = if point.length == 0.0 { point.gradient_norm } else { f64::INFINITY };
    let descends = steps.descends();
    let mut past = Past { values: VecDeque::new(), period: rule.period as usize, descends };
    let mut best = (!descends).then(|| point.clone());
    let stop = loop {
        if let Some(record) = iterations[n_before..].last_mut() {
            record.gradient_norm = point.gradient_norm;
            record.non_zeros = point.non_zeros;
            record.holdout = early_stopping.as_mut().map(|stopping| stopping.see(&point.w)).transpose()?;
            if run.observe(record).is_break() {
                break Stop::Observer;
            }
            if early_stopping.as_ref().is_some_and(|stopping| stopping.is_exhausted()) {
                break Stop::Holdout;
            }
        }
        if point.gradient_norm <= rule.tolerance * point.length.max(1.0) {
            break Stop::Converged;
        }
        if let Some(best) = best.as_mut().filter(|best| point.value < best.value) {
            best.clone_from(point);
        }
        if let Some(fell) = past.push(point.value) {
            if !descends && rule.delta > 0.0 && fell < rule.delta * point.value.abs() {
                break Stop::Wavering;
            }
            if descends && fell <= 0.0 {
                break Stop::NoProgress;
            }
            if descends && fell < rule.delta * point.value.abs() {
                if point.gradient_norm > STEEP * first_norm {
                    tracing::warn!(
                        "the objective hardly falls, but its gradient has a norm of {:.1e} after {first_norm:.1e} at the \
                         start: the minimum may be far; scale the features, or train longer with `stop.delta = 0`",
                        point.gradient_norm
                    );
                }
                break Stop::Plateau;
            }
        }
        if iterations.len() - n_before >= rule.iterations as usize {
            break Stop::Budget;
        }
        if !steps.step(f, point)? {
            break Stop::NoProgress;
        }
        iterations.push(Iteration {
            iteration: iterations.len() as u32 + 1,
            objective: point.value,
            gradient_norm: 0.0,
            non_zeros: 0,
            evaluations: evaluations + f.evaluations(),
            holdout: None,
            seconds: run.seconds(),
            dual: None,
        });
    };
    if let Some(best) = best {
        *point = best;
    }
    Ok(Trace { iterations, stop })
}

/// Values of the last iterations, as far as the stopping rule needs them.
///
/// They are stored as they come: a long period must not take memory that may never be used.
struct Past {
    values: VecDeque<f64>,
    period: usize,
    descends: bool,
}

impl Past {
    /// Records a value, and returns how much it is below the one of a period ago; `None` as long as
    /// there is none. Of an optimizer that does not descend the means over two periods are
    /// compared, of which the first must not reach back to the starting point.
    fn push(&mut self, value: f64) -> Option<f64> {
        let Past { values, period, descends } = self;
        values.push_back(value);
        let wanted = if *descends { *period + 1 } else { 2 * *period + 1 };
        if values.len() < wanted {
            return None;
        }
        let first = values.pop_front()?;
        if *descends {
            return Some(first - value);
        }
        let mean = |values: &mut dyn Iterator<Item = &f64>| values.sum::<f64>() / *period as f64;
        Some(mean(&mut values.iter().take(*period)) - mean(&mut values.iter().skip(*period)))
    }
}

/// Partial derivative of the penalised function that is nearest to zero (Andrew & Gao 2007,
/// equation 4).
#[inline(always)]
pub fn pseudo_gradient(w: f64, gradient: f64, l1: f64) -> f64 {
    if w != 0.0 {
        gradient + l1 * w.signum()
    } else if gradient > l1 {
        gradient - l1
    } else if gradient < -l1 {
        gradient + l1
    } else {
        0.0
    }
}
