use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use crf_core::{Candidate, FitContext, Problem, Result, Stop};

use crate::candidates::objective::CandidateObjective;
use crate::candidates::path_reporter::Emit;
use crate::forward::selection_loop::best_of;

/// Lists of the candidates with the largest derivatives, at w = 0 first. Those say much the same, as nested thresholds do; so
/// all candidates are looked at again whenever the model on a list has grown and when its path has come to its end, those
/// that now have larger derivatives than others of the list take their place, and the path is followed anew from its beginning.
pub(crate) struct WorkingList {
    /// How many candidates a list has beside intercepts and the features of the model.
    pub(crate) keep: usize,
    /// By what the number of features is multiplied, at least, from one list to the next; above 1.
    pub(crate) growth: f64,
}

/// Follows a path on a problem that has some of the candidates.
pub(crate) type Path<'p> = dyn FnMut(&Problem<'_>, &mut FitContext<'_>, &mut Emit<'_>) -> Result<Stop> + 'p;

impl WorkingList {
    /// Follows a path on one list of the problem's candidates after the other, which are compared in the field. Each of its
    /// models is shown once it is larger than those before.
    pub(crate) fn follow(
        &self,
        problem: &Problem<'_>,
        field: &mut CandidateObjective<'_>,
        path: &mut Path<'_>,
        run: &mut FitContext<'_>,
        emit: &mut Emit<'_>,
    ) -> Result<Stop> {
        let (mut list, mut shown) = (self.list(field), 0);
        let mut away = 0.0; // seconds that others spent on candidates
        loop {
            let is_whole = list.len() == field.w.len();
            let map = Arc::new(problem.map.narrow_to(&list));
            let train = problem.train.restricted(&map);
            let listed = Problem { map: &map, train: &train, ..*problem };
            let (size, away_before, mut has_grown, mut last) = (shown, away, false, None);
            let stop = path(&listed, run, &mut |candidate: Candidate<'_>| {
                if candidate.features.len() <= shown {
                    return Ok(ControlFlow::Continue(()));
                }
                shown = candidate.features.len();
                let features: Vec<usize> = candidate.features.iter().map(|&k| list[k]).collect();
                let (began, seconds) = (Instant::now(), candidate.seconds - away_before);
                let next = emit(Candidate { features: &features, seconds, ..candidate })?;
                away += began.elapsed().as_secs_f64();
                // Without weights there is nothing to look from.
                let weights = candidate.weights.filter(|_| !is_whole && next.is_continue());
                last = weights.map(|weights| (features, weights.to_vec()));
                has_grown = last.is_some() && shown as f64 >= self.growth * size as f64;
                Ok(if has_grown { ControlFlow::Break(()) } else { next })
            })?;
            let is_used_up = matches!(stop, Stop::Converged | Stop::NoProgress);
            let Some((features, weights)) = last.filter(|_| has_grown || is_used_up) else { return Ok(stop) };
            field.w.fill(0.0);
            field.move_to(&features, &weights);
            field.look()?;
            list = self.list(field);
        }
    }

    /// Intercepts, the features of the model and the best of the others, ascending.
    fn list(&self, field: &CandidateObjective<'_>) -> Vec<usize> {
        let slopes: Vec<f64> = field.gradient.iter().map(|slope| slope.abs()).collect();
        let stays = |k: usize| field.w[k] != 0.0 || field.problem.map.is_intercept(k);
        let mut list = best_of(&slopes, |k| !stays(k), self.keep);
        list.extend((0..field.w.len()).filter(|&k| stays(k)));
        list.sort_unstable();
        list
    }
}
