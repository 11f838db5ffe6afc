use std::ops::Range;

use crf_core::{FitContext, Result, Stop, require};
use crf_learn::{CostFunction as _, Penalty, StopRule, run_steps};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::objective::CandidateObjective;
use crate::candidates::path_reporter::PathReporter;
use crate::candidates::warm_steps::{MOST_DENSE, WarmSteps};
use crate::forward::selection_loop::best_of;

/// Which ℓ1 penalties a path goes through, and how exactly.
///
/// The first is λ_0 = max_k |∂ℓ/∂w_k| at w = 0, under which no feature is in the model; each of the others is `decay` times
/// the one before (Vail 2008, §3.2.3) and begins with its weights (Koh, Kim & Boyd 2007).
///
/// Only candidates that the strong rule expects to enter are trained: those with |∂ℓ/∂w_k| ≥ 2λ_{i+1} − λ_i under the weights
/// of λ_i (Tibshirani et al. 2012, equation 7), and those in the model. The rule can be wrong, so every point is
/// held to the optimality conditions of all candidates; those that break them are put in, and the point is
/// solved again. So the path is the same with and without it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct LambdaPath {
    /// What each λ is of the one before; above 0 and below 1.
    pub decay: f64,
    /// The smallest λ, as a share of λ_0; above 0 and below 1.
    pub floor: f64,
    /// The path ends before a model has more features than this.
    pub most: Option<usize>,
    /// Whether the weights of (y = label) go unpenalised; they are then in every model.
    pub exempt_intercepts: bool,
    /// Whether to leave out the candidates that the strong rule discards.
    pub screen: bool,
    /// How many of those that it lets in are trained at a time, the ones with the largest derivatives first: so many, or a
    /// quarter of what the model has if that is more; at least 1. The others follow as the optimality conditions demand, so the
    /// path is the same.
    pub batch: usize,
    /// So many weights, at most, are trained by proximal quasi-Newton steps with a dense matrix of curvature; more by OWL-QN, as are
    /// any with 0.
    pub dense: usize,
    /// A point is solved when the pseudo-gradient is no longer than this times λ and max(1, ‖w‖).
    pub tolerance: f64,
    /// Iterations after which a point counts as solved; at least 1.
    pub iterations: u32,
}

impl Default for LambdaPath {
    fn default() -> Self {
        LambdaPath {
            decay: 0.9,
            floor: 1e-4,
            most: None,
            exempt_intercepts: false,
            screen: true,
            batch: 8,
            dense: MOST_DENSE,
            tolerance: 1e-3,
            iterations: 1000,
        }
    }
}

/// How far ahead the strong rule looks when it lets candidates in, as a share of the next λ: to let them in often costs more
/// than to train some that are not needed yet.
const AHEAD: f64 = 0.9;

impl LambdaPath {
    pub(crate) fn check(&self) -> Result<()> {
        let inside = |x: f64| x > 0.0 && x < 1.0;
        require(inside(self.decay), "decay", "above 0 and below 1", self.decay)?;
        require(inside(self.floor), "floor", "above 0 and below 1", self.floor)?;
        require(self.most != Some(0), "most", "at least 1", 0)?;
        require(self.batch >= 1, "batch", "at least 1", self.batch)?;
        require(self.iterations >= 1, "iterations", "at least 1", self.iterations)?;
        let fine = self.tolerance.is_finite() && self.tolerance > 0.0;
        require(fine, "tolerance", "a finite number above 0", self.tolerance)
    }

    /// The features without a penalty, ascending.
    fn exempt(&self, field: &CandidateObjective<'_>) -> Vec<usize> {
        let map = field.problem.map;
        (0..map.len()).filter(|&k| self.exempt_intercepts && map.is_intercept(k)).collect()
    }

    /// Trains the features without a penalty, as far as there are any.
    pub(crate) fn begin(
        &self,
        field: &mut CandidateObjective<'_>,
        steps: &mut WarmSteps,
        run: &mut FitContext<'_>,
    ) -> Result<Stop> {
        let exempt = self.exempt(field);
        if exempt.is_empty() {
            return Ok(Stop::Converged);
        }
        let none = Penalty { l1: 0.0, l2: 0.0, exempt_intercepts: true };
        let rule = StopRule { delta: 0.0, ..StopRule::default() };
        field.train(&exempt, &none, &rule, steps, run).map(|(_, stop)| stop)
    }

    /// The largest derivative of some candidates that have a penalty.
    pub(crate) fn steepest(&self, field: &CandidateObjective<'_>, among: Range<usize>) -> f64 {
        let exempt = self.exempt(field);
        let penalised = among.filter(|k| exempt.binary_search(k).is_err());
        penalised.map(|k| field.gradient[k].abs()).fold(0.0, f64::max)
    }

    /// Shows the minima of a field's objective under one λ after the other, from the first below λ_0 on, which may be `given`.
    /// The optimality conditions of all candidates are looked at when λ has fallen to `look` times the one at which
    /// they were looked at last: with 1 at every λ.
    pub(crate) fn follow(
        &self,
        field: &mut CandidateObjective<'_>,
        given: Option<f64>,
        look: f64,
        trail: &mut PathReporter<'_>,
        run: &mut FitContext<'_>,
    ) -> Result<Stop> {
        let (map, exempt) = (field.problem.map, self.exempt(field));
        let mut steps = WarmSteps::new(self.dense);
        if self.begin(field, &mut steps, run)? == Stop::Observer {
            return Ok(Stop::Observer);
        }
        let first = given.unwrap_or_else(|| self.steepest(field, 0..map.len()));
        let mut at = Lambda { looked: first, next: first * self.decay };
        let last = first * self.floor * (1.0 - 1e-9);
        let (mut stop, mut more) = (Stop::Converged, 1);
        while at.next >= last && at.next > 0.0 {
            let strong = at.strong(at.next * look.min(AHEAD));
            let is_needed = |k: usize| !self.screen || field.w[k] != 0.0 || exempt.binary_search(&k).is_ok();
            let mut features: Vec<usize> = (0..map.len()).filter(|&k| is_needed(k)).collect();
            let slope = |k: usize| if is_needed(k) { 0.0 } else { field.gradient[k].abs() };
            let slopes: Vec<f64> = (0..map.len()).map(slope).collect();
            let batch = self.batch.max(features.len() / 4).saturating_mul(more);
            let mut newcomers = best_of(&slopes, |k| slopes[k] >= strong, batch + 1);
            let is_cut = newcomers.len() > batch;
            newcomers.truncate(batch);
            features.extend(newcomers);
            features.sort_unstable();
            let outside: Vec<usize> = (0..map.len()).filter(|k| features.binary_search(k).is_err()).collect();
            let penalty = Penalty { l1: at.next, l2: 0.0, exempt_intercepts: self.exempt_intercepts };
            let mut is_stuck = false;
            let end = field.restrict(&features, &penalty, |field, f, point| {
                let steps = steps.on(f, &features, &run.seed)?;
                let mut is_known = true;
                while at.next >= last {
                    f.set_l1(at.next);
                    if is_known {
                        field.recall(&features, f, point);
                    } else {
                        f.evaluate(point)?;
                    }
                    let rule = StopRule {
                        iterations: self.iterations,
                        tolerance: self.tolerance * at.next,
                        delta: 0.0,
                        ..StopRule::default()
                    };
                    let trace = run_steps(f, point, steps, &rule, None, (Vec::new(), 0), run)?;
                    if matches!(trace.stop, Stop::Observer) {
                        return Ok(Some(trace.stop));
                    }
                    field.move_to(&features, &point.w);
                    is_known = at.next <= look * at.looked;
                    if is_known {
                        field.look()?;
                        let bound = at.next * (1.0 + self.tolerance);
                        if outside.iter().any(|&k| field.gradient[k].abs() > bound) {
                            is_stuck = trace.iterations.is_empty();
                            return Ok(None);
                        }
                    }
                    if trace.stop == Stop::Budget {
                        stop = Stop::Budget;
                    }
                    let support = field.support();
                    if self.most.is_some_and(|most| support.len() > most) {
                        return Ok(Some(Stop::Budget));
                    }
                    let weights = CandidateObjective::part(&field.w, &support);
                    if trail.show(&support, Some(&weights), Some(point.value), run)?.is_break() {
                        return Ok(Some(Stop::Observer));
                    }
                    let looked = if is_known { at.next } else { at.looked };
                    at = Lambda { looked, next: at.next * self.decay };
                    let strong = at.strong(at.next * look);
                    // Of a batch that was cut the rule says nothing new; those that break the conditions come back above.
                    if is_known && !is_cut && outside.iter().any(|&k| field.gradient[k].abs() >= strong) {
                        return Ok(None);
                    }
                }
                Ok(None)
            })?;
            if let Some(end) = end {
                return Ok(end);
            }
            // Where nothing moved, the same batch would come again.
            more = if is_stuck { 2 * more } else { 1 };
        }
        Ok(stop)
    }
}

/// Where a path stands.
#[derive(Clone, Copy)]
struct Lambda {
    looked: f64, // under which all candidates were looked at last
    next: f64,
}

impl Lambda {
    /// The derivative below which a candidate is expected to stay out until `ahead`.
    fn strong(self, ahead: f64) -> f64 {
        2.0 * ahead - self.looked
    }
}
