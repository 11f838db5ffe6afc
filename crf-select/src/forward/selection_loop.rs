use crf_core::{FitContext, Result, Stop, require};
use crf_learn::{Penalty, StopRule, pseudo_gradient};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::objective::CandidateObjective;
use crate::candidates::path_reporter::PathReporter;
use crate::candidates::warm_steps::{MOST_DENSE, WarmSteps};

/// How forward selection goes on: the best candidates are added, and the model is trained on from its last weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct ForwardSettings {
    /// How many candidates are added before the model is trained again; at least 1.
    pub per_round: usize,
    /// How many features a model has at most.
    pub most: Option<usize>,
    /// λ₁ of λ₁‖w‖₁; at least 0.
    pub l1: f64,
    /// λ₂ of (λ₂/2)‖w‖²; at least 0.
    pub l2: f64,
    /// When the training of a round stops.
    pub stop: StopRule,
}

impl Default for ForwardSettings {
    fn default() -> Self {
        ForwardSettings { per_round: 1, most: None, l1: 0.0, l2: 0.0, stop: StopRule::default() }
    }
}

/// Rounds in a row in which training gained nothing before selection gives up.
const MOST_FRUITLESS: usize = 100;
/// What share of itself the objective falls by, at least, when a feature gives something: less comes of training longer.
const LEAST_FALL: f64 = 1e-7;

/// What forward selection asks of a round.
pub(crate) trait CandidateScorer {
    /// Writes what each candidate that is not `chosen` promises, and says why selection ends if none promises anything; 0 or
    /// less is not worth adding.
    fn score(&mut self, field: &CandidateObjective<'_>, chosen: &[bool], scores: &mut [f64]) -> Result<Stop>;
    /// Whether a fall of the objective was worth adding so many features.
    fn is_worth(&self, _fall: f64, _added: usize) -> bool {
        true
    }
}

impl ForwardSettings {
    pub(crate) fn check(&self) -> Result<()> {
        require(self.per_round >= 1, "per_round", "at least 1", self.per_round)?;
        require(self.most != Some(0), "most", "at least 1", 0)?;
        self.penalty().check()?;
        self.stop.check()
    }

    fn penalty(&self) -> Penalty {
        Penalty { l1: self.l1, l2: self.l2, exempt_intercepts: false }
    }

    /// Adds candidates until none is worth it.
    pub(crate) fn forward(
        &self,
        field: &mut CandidateObjective<'_>,
        score: &mut dyn CandidateScorer,
        trail: &mut PathReporter<'_>,
        run: &mut FitContext<'_>,
    ) -> Result<Stop> {
        let n = field.w.len();
        let (mut chosen, mut scores) = (vec![false; n], vec![0.0; n]);
        let (mut objective, penalty, mut steps) = (field.value, self.penalty(), WarmSteps::new(MOST_DENSE));
        // What promised something and gave nothing, as a copy of a chosen feature does, is left out until something else helped.
        let (mut is_fruitless, mut n_fruitless) = (vec![false; n], 0);
        let mut end = Stop::Converged;
        loop {
            let n_chosen = chosen.iter().filter(|&&chosen| chosen).count();
            let room = self.most.map_or(n, |most| most.saturating_sub(n_chosen)).min(self.per_round);
            if room == 0 {
                return Ok(if n == 0 { end } else { Stop::Budget });
            }
            if n_fruitless == 0 {
                scores.fill(0.0);
                end = score.score(field, &chosen, &mut scores)?;
            }
            // Where the objective does not slope, as along what chosen features say together, training goes nowhere: such
            // candidates come last. Slopes of trained features are not zero either, but what training has left of them.
            let slope = |k: usize| {
                pseudo_gradient(field.w[k], field.gradient[k] + self.l2 * field.w[k], self.l1).abs()
            };
            let left = (0..n).filter(|&k| chosen[k]).map(slope).fold(0.0, f64::max);
            let is_free = |k: usize| !chosen[k] && !is_fruitless[k];
            let mut best = best_of(&scores, |k| is_free(k) && slope(k) > 2.0 * left, room);
            if best.is_empty() {
                best = best_of(&scores, is_free, room);
            }
            if best.is_empty() {
                return Ok(if n_fruitless > 0 { Stop::NoProgress } else { end });
            }
            best.iter().for_each(|&k| chosen[k] = true);
            let features: Vec<usize> = (0..n).filter(|&k| chosen[k]).collect();
            let before = field.stand();
            let (now, stop) = field.train(&features, &penalty, &self.stop, &mut steps, run)?;
            if stop == Stop::Observer {
                return Ok(stop);
            }
            if objective - now <= LEAST_FALL * objective.abs() {
                field.go_back(before);
                n_fruitless += 1;
                if n_fruitless == MOST_FRUITLESS {
                    return Ok(Stop::NoProgress);
                }
                for &k in &best {
                    (chosen[k], is_fruitless[k]) = (false, true);
                }
                continue;
            }
            is_fruitless.fill(false);
            n_fruitless = 0;
            if !score.is_worth(objective - now, best.len()) {
                return Ok(Stop::Converged);
            }
            objective = now;
            // What a penalty drove back to zero is a candidate again.
            (0..n).for_each(|k| chosen[k] = field.w[k] != 0.0);
            let support = field.support();
            let weights = CandidateObjective::part(&field.w, &support);
            if trail.show(&support, Some(&weights), Some(objective), run)?.is_break() {
                return Ok(Stop::Observer);
            }
        }
    }
}

/// The candidates with the largest scores above zero among those that are free, at most `room`; of equal ones the first.
pub(crate) fn best_of(scores: &[f64], is_free: impl Fn(usize) -> bool, room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).filter(|&k| is_free(k) && scores[k] > 0.0).collect();
    let descending = |&a: &usize, &b: &usize| scores[b].total_cmp(&scores[a]).then(a.cmp(&b));
    if room < order.len() {
        order.select_nth_unstable_by(room, descending);
        order.truncate(room);
    }
    order.sort_unstable_by(descending);
    order
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::candidates::objective::likelihood;
    use crf_core::{
        Alphabet, Candidate, Channel, ChannelKind, DatasetBuilder, Features, Iteration, Problem, Schema,
        Seed, Value,
    };
    use crf_inference::ForwardBackward;
    use std::ops::ControlFlow;
    use std::sync::Arc;

    /// Promises most of what is never anything but zero.
    struct Misled(Vec<String>);

    impl CandidateScorer for Misled {
        fn score(
            &mut self,
            _field: &CandidateObjective<'_>,
            chosen: &[bool],
            scores: &mut [f64],
        ) -> Result<Stop> {
            for ((score, name), _) in
                scores.iter_mut().zip(&self.0).zip(chosen).filter(|(_, chosen)| !**chosen)
            {
                *score = if name.contains("zero") { 2.0 } else { 1.0 };
            }
            Ok(Stop::Converged)
        }
    }

    #[test]
    fn a_candidate_that_gives_nothing_does_not_end_the_path() {
        let channel = |name: &str| Channel { name: name.into(), kind: ChannelKind::Real };
        let channels = vec![channel("zero"), channel("x"), channel("z")];
        let mut data =
            DatasetBuilder::new(Arc::new(Schema::chain(channels, Alphabet::new(["a", "b"])).unwrap()));
        for t in 0..40 {
            let (x, z) = (f64::from(t % 7) - 3.0, f64::from(t % 5) - 2.0);
            data.push(&[0.0, x, z].map(Value::Real), Some(u32::from(x + z + f64::from(t % 3) > 1.0)))
                .unwrap();
        }
        data.end_chain().unwrap();
        let data = data.finish();
        let features: Features = serde_json::from_str(r#"[{"state": "value"}]"#).unwrap();
        let fitted = features.fit(&data).unwrap();
        let train = fitted.encode(Arc::new(data)).unwrap();
        let (map, inference) = (Arc::new(fitted.map(&train).unwrap()), ForwardBackward::default());
        let problem = Problem::new(&train, &map, &inference);
        let names: Vec<String> = (0..map.len()).map(|k| map.name(k)).collect();
        let mut field = CandidateObjective::new(&problem, &likelihood).unwrap();
        let mut sizes = Vec::new();
        let mut emit = |tried: Candidate<'_>| {
            sizes.push(tried.features.len());
            Ok(ControlFlow::Continue(()))
        };
        let mut trail = PathReporter::new(&mut emit);
        let mut go_on = |_: &Iteration| ControlFlow::Continue(());
        let run = &mut FitContext::new(Seed::new(1), &mut go_on);
        let rounds = ForwardSettings { l2: 0.1, ..ForwardSettings::default() };
        let stop = rounds.forward(&mut field, &mut Misled(names.clone()), &mut trail, run).unwrap();
        assert_eq!((stop, sizes), (Stop::NoProgress, vec![1, 2, 3, 4]));
        assert!(field.support().iter().all(|&k| !names[k].contains("zero")), "{:?}", field.w);
    }
}
