use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use crf_core::{Candidate, FitContext, Problem, Result, Stop};

use crate::candidates::objective::CandidateObjective;
use crate::candidates::path_reporter::Emit;
use crate::candidates::top_scores::top_scores;

/// Restricts a path to a list of the candidates with the largest derivatives, at first those at w =
/// 0.
///
/// The largest derivatives often belong to near copies of the same few numbers, as nested
/// thresholds are. So whenever the model has grown by a factor, or its path has ended, all
/// candidates are evaluated again at its weights, the list is rebuilt from the features of the
/// model and the new largest derivatives, and the path is followed again from its beginning. It
/// ends with a list that added less than a tenth of the features, so that the paths are few.
pub(crate) struct WorkingList {
    /// Number of candidates on a list, beside intercepts and the features of the model.
    pub(crate) keep: usize,
    /// Factor by which the number of features must grow before the list is rebuilt; above 1.
    pub(crate) growth: f64,
}

/// Minimum factor by which a list that is used up must have grown the model for another one.
const WORTH_ANOTHER: f64 = 1.1;

/// Callback that follows a path on a problem that has only some of the candidates.
pub(crate) type FollowPath<'p> =
    dyn FnMut(&Problem<'_>, &mut FitContext<'_>, &mut Emit<'_>) -> Result<Stop> + 'p;

impl WorkingList {
    /// Follows a path on one list of the problem's candidates after the other, chosen by the
    /// derivatives of `objective`.
    ///
    /// A model is emitted only if it has more features than all before.
    pub(crate) fn follow(
        &self,
        problem: &Problem<'_>,
        objective: &mut CandidateObjective<'_>,
        path: &mut FollowPath<'_>,
        run: &mut FitContext<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<Stop> {
        let mut list = self.list(objective);
        let mut largest = 0; // features of the largest model so far
        let mut caller_seconds = 0.0;
        loop {
            let is_complete = list.len() == objective.w.len();
            let map = Arc::new(problem.map.narrow_to(&list));
            let train = problem.train.restricted(&map);
            let listed = Problem { map: &map, train: &train, ..*problem };
            let size = largest;
            let seconds_before = caller_seconds;
            let mut has_grown = false;
            let mut last = None;
            let stop = path(&listed, run, &mut |candidate: Candidate<'_>| {
                if candidate.features.len() <= largest {
                    return Ok(ControlFlow::Continue(()));
                }
                largest = candidate.features.len();
                let features: Vec<usize> = candidate.features.iter().map(|&k| list[k]).collect();
                let began = Instant::now();
                let seconds = candidate.seconds - seconds_before;
                let next = emit(Candidate { features: &features, seconds, ..candidate })?;
                caller_seconds += began.elapsed().as_secs_f64();
                // Without weights there is no point at which to evaluate the candidates.
                let weights = candidate.weights.filter(|_| !is_complete && next.is_continue());
                last = weights.map(|weights| (features, weights.to_vec()));
                has_grown = last.is_some() && largest as f64 >= self.growth * size as f64;
                Ok(if has_grown { ControlFlow::Break(()) } else { next })
            })?;
            let is_used_up = matches!(stop, Stop::Converged | Stop::NoProgress)
                && largest as f64 >= WORTH_ANOTHER * size as f64;
            let Some((features, weights)) = last.filter(|_| has_grown || is_used_up) else { return Ok(stop) };
            objective.w.fill(0.0);
            objective.set_weights(&features, &weights);
            objective.evaluate()?;
            list = self.list(objective);
        }
    }

    /// Intercepts, the features of the model and the `keep` best of the others, ascending.
    fn list(&self, objective: &CandidateObjective<'_>) -> Vec<usize> {
        let slopes: Vec<f64> = objective.gradient.iter().map(|slope| slope.abs()).collect();
        let stays = |k: usize| objective.w[k] != 0.0 || objective.problem.map.is_intercept(k);
        let mut list = top_scores(&slopes, |k| !stays(k), self.keep);
        list.extend((0..objective.w.len()).filter(|&k| stays(k)));
        list.sort_unstable();
        list
    }
}
