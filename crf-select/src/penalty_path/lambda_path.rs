use std::ops::Range;

use crf_core::{FitContext, Result, Stop, require};
use crf_learn::{CostFunction as _, Penalty, StopRule, run_steps};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::objective::{CandidateObjective, SlopeNorm};
use crate::candidates::path_reporter::PathReporter;
use crate::candidates::top_scores::top_scores;
use crate::candidates::warm_steps::{MAX_DENSE, WarmSteps};

/// Settings of a path of ℓ1 penalties: the values of λ, and the precision of the minima.
///
/// The first value is λ_0 = max_k |∂ℓ/∂w_k| at w = 0, under which no feature is in the model. Each
/// of the others is `decay` times the one before (Vail 2008, §3.2.3), and its training starts from
/// the weights of the one before (Koh, Kim & Boyd 2007).
///
/// The strong rule keeps the training fast: only candidates with |∂ℓ/∂w_k| ≥ 2λ_{i+1} − λ_i under
/// the weights of λ_i are trained (Tibshirani et al. 2012, equation 7), and those in the model. The
/// rule can be wrong, so every point is checked against the optimality conditions of all
/// candidates; those that violate them are added and the point is solved again. The path is
/// therefore the same with and without the rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct LambdaPath {
    /// Ratio of a λ to the one before; above 0 and below 1.
    pub decay: f64,
    /// Smallest λ, as a share of λ_0; above 0 and below 1.
    pub floor: f64,
    /// Maximum number of features: the path ends before a model has more. No maximum if omitted.
    pub most: Option<usize>,
    /// If true, the weights of (y = label) are not penalised; they are then in every model.
    pub exempt_intercepts: bool,
    /// If true, the strong rule decides which candidates are trained; otherwise all are.
    pub screen: bool,
    /// Number of candidates admitted by the strong rule that are added at a time, those with the
    /// largest derivatives first; a quarter of the model's features if that is more. At least 1.
    /// The others follow as the optimality conditions demand, so the path stays the same.
    pub batch: usize,
    /// Maximum number of weights for proximal quasi-Newton steps with a dense curvature matrix;
    /// more are trained by OWL-QN. 0 trains all models by OWL-QN.
    pub dense: usize,
    /// Tolerance of a minimum: the pseudo-gradient is at most this times λ and max(1, ‖w‖).
    pub tolerance: f64,
    /// Maximum number of iterations per λ, whichever candidates take part in them, after which the
    /// point counts as solved; at least 1.
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
            dense: MAX_DENSE,
            tolerance: 1e-3,
            iterations: 1000,
        }
    }
}

/// Maximum number of values of λ.
const MAX_VALUES: f64 = 100_000.0;
/// Share of the next λ for which the strong rule admits candidates: admitting some often costs more
/// than training a few that are not needed yet.
const AHEAD: f64 = 0.9;

impl LambdaPath {
    pub(crate) fn check(&self) -> Result<()> {
        let inside = |x: f64| x > 0.0 && x < 1.0;
        require(inside(self.decay), "decay", "above 0 and below 1", self.decay)?;
        require(inside(self.floor), "floor", "above 0 and below 1", self.floor)?;
        let n_values = self.floor.ln() / self.decay.ln();
        let want = format!("small enough for `floor` to be reached by {MAX_VALUES} values of λ");
        require(
            n_values <= MAX_VALUES,
            "decay",
            &want,
            format!("{}, by which it takes {n_values:.0}", self.decay),
        )?;
        require(self.most != Some(0), "most", "at least 1", 0)?;
        require(self.batch >= 1, "batch", "at least 1", self.batch)?;
        require(self.iterations >= 1, "iterations", "at least 1", self.iterations)?;
        let fine = self.tolerance.is_finite() && self.tolerance > 0.0;
        require(fine, "tolerance", "a finite number above 0", self.tolerance)
    }

    /// Features without a penalty, ascending.
    fn exempt(&self, objective: &CandidateObjective<'_>) -> Vec<usize> {
        let map = objective.problem.map;
        (0..map.len()).filter(|&k| self.exempt_intercepts && map.is_intercept(k)).collect()
    }

    /// Trains the features without a penalty, if there are any.
    pub(crate) fn train_exempt(
        &self,
        objective: &mut CandidateObjective<'_>,
        steps: &mut WarmSteps,
        run: &mut FitContext<'_>,
    ) -> Result<Stop> {
        let exempt = self.exempt(objective);
        if exempt.is_empty() {
            return Ok(Stop::Converged);
        }
        let none = Penalty { l1: 0.0, l2: 0.0, exempt_intercepts: true };
        let rule = StopRule { delta: 0.0, ..StopRule::default() };
        objective.train(&exempt, &none, &rule, steps, run).map(|(_, stop)| stop)
    }

    /// Largest absolute derivative among the penalised candidates of a range.
    pub(crate) fn steepest(&self, objective: &CandidateObjective<'_>, among: Range<usize>) -> f64 {
        let exempt = self.exempt(objective);
        let penalised = among.filter(|k| exempt.binary_search(k).is_err());
        penalised.map(|k| objective.gradient[k].abs()).fold(0.0, f64::max)
    }

    /// Reports the minima of an objective under one λ after the other. The first λ is below λ_0,
    /// which is `lambda_0` if given.
    ///
    /// The optimality conditions of all candidates are checked when λ has fallen to `look` times
    /// the λ of the last check: with 1 at every λ.
    pub(crate) fn follow(
        &self,
        objective: &mut CandidateObjective<'_>,
        lambda_0: Option<f64>,
        look: f64,
        reporter: &mut PathReporter<'_>,
        run: &mut FitContext<'_>,
    ) -> Result<Stop> {
        let mut steps = WarmSteps::new(self.dense);
        if self.train_exempt(objective, &mut steps, run)? == Stop::Observer {
            return Ok(Stop::Observer);
        }
        let lambda_0 = lambda_0.unwrap_or_else(|| self.steepest(objective, 0..objective.w.len()));
        let mut walk = Walk {
            settings: self,
            exempt: self.exempt(objective),
            look,
            lambda: lambda_0 * self.decay,
            checked: lambda_0,
            last: lambda_0 * self.floor * (1.0 - 1e-9),
            spent: 0,
            stop: Stop::Converged,
        };
        let mut batch_factor = 1;
        while walk.lambda >= walk.last && walk.lambda > 0.0 {
            let set = walk.working_set(objective, batch_factor);
            batch_factor = match walk.advance(objective, &set, &mut steps, reporter, run)? {
                SetEnd::PathEnds(stop) => return Ok(stop),
                // Nothing has moved, so the same batch would come again.
                SetEnd::Violated { is_stuck: true } => 2 * batch_factor,
                SetEnd::Violated { is_stuck: false } | SetEnd::Done => 1,
            };
        }
        Ok(walk.stop)
    }
}

/// The walk from λ to λ.
struct Walk<'p> {
    settings: &'p LambdaPath,
    exempt: Vec<usize>, // features without a penalty, ascending
    look: f64,          // see `LambdaPath::follow`
    lambda: f64,        // of the next point
    checked: f64,       // λ of the last point at which all candidates were evaluated
    last: f64,          // lower bound of λ
    spent: u32,         // iterations at this λ
    stop: Stop,         // of a walk that comes to its end
}

/// Candidates that are trained, and the others.
struct WorkingSet {
    features: Vec<usize>, // ascending
    outside: Vec<usize>,
    is_cut: bool, // a batch did not take all that the strong rule admits
}

impl WorkingSet {
    /// True if the absolute derivative of a candidate outside the set satisfies a condition.
    fn any_slope_outside(&self, objective: &CandidateObjective<'_>, condition: impl Fn(f64) -> bool) -> bool {
        self.outside.iter().any(|&k| condition(objective.gradient[k].abs()))
    }
}

/// Reason why the walk leaves a working set.
enum SetEnd {
    /// The whole path ends.
    PathEnds(Stop),
    /// Candidates outside violate their optimality conditions at the last λ, which is solved again
    /// with more of them.
    Violated {
        /// True if the weights have not moved at this λ.
        is_stuck: bool,
    },
    /// The strong rule admits further candidates for the next λ, or there is no next λ.
    Done,
}

impl Walk<'_> {
    /// Strong rule: the derivative below which a candidate is expected to stay out of the model
    /// until λ has fallen to `lambda`.
    fn threshold(&self, lambda: f64) -> f64 {
        2.0 * lambda - self.checked
    }

    /// The model's features, those without a penalty, and a batch of the candidates that the strong
    /// rule admits; all candidates without screening.
    fn working_set(&self, objective: &CandidateObjective<'_>, batch_factor: usize) -> WorkingSet {
        let n = objective.w.len();
        let stays = |k: usize| {
            !self.settings.screen || objective.w[k] != 0.0 || self.exempt.binary_search(&k).is_ok()
        };
        let mut features: Vec<usize> = (0..n).filter(|&k| stays(k)).collect();
        let slope = |k: usize| if stays(k) { 0.0 } else { objective.gradient[k].abs() };
        let slopes: Vec<f64> = (0..n).map(slope).collect();
        let threshold = self.threshold(self.lambda * self.look.min(AHEAD));
        let batch = self.settings.batch.max(features.len() / 4).saturating_mul(batch_factor);
        let mut newcomers = top_scores(&slopes, |k| slopes[k] >= threshold, batch + 1);
        let is_cut = newcomers.len() > batch;
        newcomers.truncate(batch);
        features.extend(newcomers);
        features.sort_unstable();
        let outside = (0..n).filter(|k| features.binary_search(k).is_err()).collect();
        WorkingSet { features, outside, is_cut }
    }

    /// Solves and reports point after point on one working set.
    fn advance(
        &mut self,
        objective: &mut CandidateObjective<'_>,
        set: &WorkingSet,
        steps: &mut WarmSteps,
        reporter: &mut PathReporter<'_>,
        run: &mut FitContext<'_>,
    ) -> Result<SetEnd> {
        let exempt_intercepts = self.settings.exempt_intercepts;
        let penalty = Penalty { l1: self.lambda, l2: 0.0, exempt_intercepts };
        objective.restrict(&set.features, &penalty, SlopeNorm::Plain, |objective, f, point| {
            let steps = steps.resume(f, &set.features, objective.units_of(&set.features), &run.seed)?;
            let mut is_evaluated = true; // all candidates, at these weights
            while self.lambda >= self.last {
                f.set_l1(self.lambda);
                if is_evaluated {
                    objective.reuse_gradient(&set.features, f, point);
                } else {
                    f.evaluate(point)?;
                }
                let trace = run_steps(f, point, steps, &self.stop_rule(), None, (Vec::new(), 0), run)?;
                self.spent += trace.iterations.len() as u32;
                if trace.stop == Stop::Observer {
                    return Ok(SetEnd::PathEnds(Stop::Observer));
                }
                objective.set_weights(&set.features, &point.w);
                is_evaluated = self.lambda <= self.look * self.checked;
                if is_evaluated {
                    objective.evaluate()?;
                    let bound = self.lambda * (1.0 + self.settings.tolerance);
                    let is_violated = set.any_slope_outside(objective, |slope| slope > bound);
                    if is_violated && trace.stop != Stop::Budget {
                        return Ok(SetEnd::Violated { is_stuck: trace.iterations.is_empty() });
                    }
                    self.checked = self.lambda;
                }
                // A point that is not quite solved is told by the reason for the end.
                match (trace.stop, self.stop) {
                    (Stop::Budget, _) => self.stop = Stop::Budget,
                    (Stop::NoProgress, Stop::Converged) => self.stop = Stop::NoProgress,
                    _ => {}
                }
                if let Some(stop) = self.report(objective, point.value, reporter, run)? {
                    return Ok(SetEnd::PathEnds(stop));
                }
                self.lambda *= self.settings.decay;
                self.spent = 0;
                // A set that was cut has admissible candidates outside in any case; a violation
                // brings them in.
                let threshold = self.threshold(self.lambda * self.look);
                if is_evaluated && !set.is_cut && set.any_slope_outside(objective, |slope| slope >= threshold)
                {
                    return Ok(SetEnd::Done);
                }
            }
            Ok(SetEnd::Done)
        })
    }

    fn stop_rule(&self) -> StopRule {
        let tolerance = self.settings.tolerance * self.lambda;
        let iterations = self.settings.iterations.saturating_sub(self.spent);
        StopRule { iterations, tolerance, delta: 0.0, ..StopRule::default() }
    }

    /// Reports the model; returns the reason if the path ends here.
    fn report(
        &self,
        objective: &CandidateObjective<'_>,
        value: f64,
        reporter: &mut PathReporter<'_>,
        run: &FitContext<'_>,
    ) -> Result<Option<Stop>> {
        let support = objective.support();
        if self.settings.most.is_some_and(|most| support.len() > most) {
            return Ok(Some(Stop::Budget));
        }
        let weights = objective.weights(&support);
        let next = reporter.report(&support, Some(&weights), Some(value), run)?;
        Ok(next.is_break().then_some(Stop::Observer))
    }
}
