use std::collections::VecDeque;
use std::fmt::Debug;

use crf_core::{Error, FitContext, Iteration, Result, Seed, Stop, Trace, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::training::early_stopping::EarlyStopping;

/// What an optimizer minimises: a smooth function, plus Σ l1_k |w_k|.
pub trait CostFunction {
    /// How many weights there are.
    fn dim(&self) -> usize;
    /// The factor of each |w_k|.
    fn l1(&self) -> PenaltyFactor<'_>;
    /// The factor of each w_k²/2.
    fn l2(&self) -> PenaltyFactor<'_>;
    /// How many items it is a sum over, the penalty left aside; `None` if it is no sum.
    fn n_items(&self) -> Option<usize>;
    /// How much work all items are together, in the order of numbers to be added.
    fn work(&self) -> usize;
    /// How often it was evaluated.
    fn evaluations(&self) -> u32;
    /// Finds all that is to be known about a point from its weights.
    fn evaluate(&mut self, at: &mut Point) -> Result<()>;
    /// Writes the gradient of the sum over some items at `w`, without the penalty's.
    fn evaluate_some(&mut self, items: &[usize], w: &[f64], gradient: &mut [f64]) -> Result<()>;
}

/// The factor of a penalty: the same for all weights but those that are spared.
#[derive(Debug, Clone, Copy)]
pub struct PenaltyFactor<'a> {
    /// The factor of all others.
    pub of_all: f64,
    /// Which weights are spared; empty when none is.
    pub spared: &'a [bool],
}

impl PenaltyFactor<'_> {
    /// The factor of weight `k`.
    #[inline]
    pub fn of(&self, k: usize) -> f64 {
        if self.spared.get(k) == Some(&true) { 0.0 } else { self.of_all }
    }
}

/// A way to minimise; the loop around its steps is [`minimise`].
#[typetag::serde(tag = "type")]
pub trait Optimizer: Debug + Send + Sync {
    /// Rejects settings that can never work.
    fn check(&self) -> Result<()>;
    /// Says whether it can handle a function with an ℓ1 penalty.
    fn takes_l1(&self) -> bool;
    /// Says whether its steps are made of inner products alone, so that rotated coordinates would rotate them.
    fn rotates(&self) -> bool {
        false
    }
    /// Allocates all that steps on `f` need, or says why it can make none.
    fn start(&self, f: &dyn CostFunction, seed: &Seed) -> Result<Box<dyn OptimizerState>>;
}

/// A started optimizer.
pub trait OptimizerState {
    /// Moves `at` to better weights, or what is expected to be better on the way, and says whether it could.
    fn step(&mut self, f: &mut dyn CostFunction, at: &mut Point) -> Result<bool>;
}

/// Where the minimisation stands.
#[derive(Debug, Clone)]
pub struct Point {
    /// The weights.
    pub w: Vec<f64>,
    /// The smooth part's gradient there.
    pub gradient: Vec<f64>,
    /// The value there, ℓ1 penalty included.
    pub value: f64,
    /// The length of the pseudo-gradient there, which is the gradient where nothing has an ℓ1 penalty.
    pub gradient_norm: f64,
    /// The length of the weights.
    pub length: f64,
    /// How many weights are not zero.
    pub non_zeros: usize,
}

impl Point {
    /// A point of which nothing is known yet but its weights.
    pub fn new(w: Vec<f64>) -> Self {
        let gradient = vec![0.0; w.len()];
        Point { w, gradient, value: 0.0, gradient_norm: 0.0, length: 0.0, non_zeros: 0 }
    }
}

/// When a minimisation ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StopRule {
    /// Iterations after which to give up.
    pub iterations: u32,
    /// Done when the gradient is no longer than this times max(1, ‖w‖).
    pub tolerance: f64,
    /// Done when the objective fell by less than this fraction over `period` iterations; 0 never.
    pub delta: f64,
    /// See `delta`.
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

/// Minimises `f` from `w`, step by step, until a rule or `watch` says stop; `w` ends as the best weights found: those
/// that did best on the validation data if they are watched. The trace goes on from the iterations `before`.
pub fn minimise(
    f: &mut dyn CostFunction,
    w: &mut Vec<f64>,
    optimizer: &dyn Optimizer,
    rule: &StopRule,
    mut watch: Option<EarlyStopping<'_>>,
    before: Vec<Iteration>,
    run: &mut FitContext<'_>,
) -> Result<Trace> {
    assert_eq!(w.len(), f.dim(), "one starting weight per feature");
    let own = f.evaluations();
    let mut steps = optimizer.start(f, &run.seed)?;
    let mut at = Point::new(std::mem::take(w));
    f.evaluate(&mut at)?;
    // Those of the iterations before that were not evaluations of `f`.
    let others = before.last().map_or(0, |last| last.evaluations).saturating_sub(own);
    let trace = run_steps(f, &mut at, &mut *steps, rule, watch.as_mut(), (before, others), run)?;
    *w = watch.and_then(EarlyStopping::best).unwrap_or(at.w);
    Ok(trace)
}

/// The loop of [`minimise`], from a point that was evaluated and with steps that were started: steps that know the
/// function's curvature from earlier descents go on with that. `before` are iterations that the trace goes on from, and
/// how many evaluations other than `f`'s these had.
pub fn run_steps(
    f: &mut dyn CostFunction,
    at: &mut Point,
    steps: &mut dyn OptimizerState,
    rule: &StopRule,
    mut watch: Option<&mut EarlyStopping<'_>>,
    before: (Vec<Iteration>, u32),
    run: &mut FitContext<'_>,
) -> Result<Trace> {
    let (mut iterations, evaluations) = before;
    if !(at.value.is_finite() && at.gradient_norm.is_finite()) {
        return Err(Error::NotFinite(format!(
            "the objective at the starting weights is {}; scale the features",
            at.value
        )));
    }
    let n_before = iterations.len();
    let mut past = VecDeque::with_capacity(rule.period as usize + 1);
    let stop = loop {
        if let Some(record) = iterations[n_before..].last_mut() {
            record.gradient_norm = at.gradient_norm;
            record.non_zeros = at.non_zeros;
            record.holdout = watch.as_mut().map(|watch| watch.see(&at.w)).transpose()?;
            if run.observe(record).is_break() {
                break Stop::Observer;
            }
            if watch.as_ref().is_some_and(|watch| watch.is_exhausted()) {
                break Stop::Holdout;
            }
        }
        if at.gradient_norm <= rule.tolerance * at.length.max(1.0) {
            break Stop::Converged;
        }
        past.push_back(at.value);
        if past.len() > rule.period as usize {
            let before = past.pop_front().unwrap_or(at.value);
            let fell = before - at.value;
            if fell <= 0.0 {
                break Stop::NoProgress;
            }
            if fell < rule.delta * at.value.abs() {
                break Stop::Plateau;
            }
        }
        if iterations.len() - n_before >= rule.iterations as usize {
            break Stop::Budget;
        }
        if !steps.step(f, at)? {
            break Stop::NoProgress;
        }
        iterations.push(Iteration {
            iteration: iterations.len() as u32 + 1,
            objective: at.value,
            gradient_norm: 0.0,
            non_zeros: 0,
            evaluations: evaluations + f.evaluations(),
            holdout: None,
            seconds: run.seconds(),
            dual: None,
        });
    };
    Ok(Trace { iterations, stop })
}

/// The partial derivative of the penalised function that is nearest to zero (Andrew & Gao 2007, equation 4).
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
