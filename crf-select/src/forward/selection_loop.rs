use crf_core::{FitContext, Result, Stop, require};
use crf_learn::{Penalty, StopRule, pseudo_gradient};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::objective::CandidateObjective;
use crate::candidates::path_reporter::PathReporter;
use crate::candidates::top_scores::top_scores;
use crate::candidates::warm_steps::{MAX_DENSE, WarmSteps};

/// Settings of forward selection: the best candidates are added round by round, and the model is
/// trained on from its last weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct ForwardSettings {
    /// Number of candidates that are added before the model is trained again; at least 1.
    pub per_round: usize,
    /// Maximum number of features of a model, at which the path ends; at least 1.
    pub most: usize,
    /// λ₁ of the penalty λ₁‖w‖₁; at least 0.
    pub l1: f64,
    /// λ₂ of the penalty (λ₂/2)‖w‖²; at least 0.
    pub l2: f64,
    /// Stopping rule for the training in a round.
    pub stop: StopRule,
}

impl Default for ForwardSettings {
    fn default() -> Self {
        ForwardSettings { per_round: 1, most: MOST, l1: 0.0, l2: 0.0, stop: StopRule::default() }
    }
}

/// Default maximum of features: far more than have been worth it, and few enough for a path to end.
const MOST: usize = 1000;
/// Maximum number of rounds, as a multiple of the maximum of features: under an ℓ1 penalty features
/// leave the model again.
const MAX_ROUNDS: usize = 4;
/// Maximum number of rounds in a row in which training gains nothing; selection then ends.
const MAX_FRUITLESS: usize = 100;
/// Minimum fall of the objective, relative to itself, that counts as a gain: less comes of training
/// longer.
const MIN_FALL: f64 = 1e-7;

/// Scores of the candidates for a round of forward selection.
pub(crate) trait CandidateScorer {
    /// Writes the score of each candidate that is not `chosen`; one with a score of 0 or less is
    /// not added. Returns the reason why selection ends if there is no positive score.
    fn score(
        &mut self,
        objective: &CandidateObjective<'_>,
        chosen: &[bool],
        scores: &mut [f64],
    ) -> Result<Stop>;
    /// True if a round that lowered the objective by `fall` was worth the features that it added.
    fn is_worthwhile(&self, _fall: f64, _n_added: usize) -> bool {
        true
    }
}

impl ForwardSettings {
    pub(crate) fn check(&self) -> Result<()> {
        require(self.per_round >= 1, "per_round", "at least 1", self.per_round)?;
        require(self.most >= 1, "most", "at least 1", self.most)?;
        self.penalty().check()?;
        self.stop.check()
    }

    fn penalty(&self) -> Penalty {
        Penalty { l1: self.l1, l2: self.l2, exempt_intercepts: false }
    }

    /// Adds candidates round by round and reports the model of each, until none is worth adding.
    pub(crate) fn follow(
        &self,
        objective: &mut CandidateObjective<'_>,
        scorer: &mut dyn CandidateScorer,
        reporter: &mut PathReporter<'_>,
        run: &mut FitContext<'_>,
    ) -> Result<Stop> {
        let n = objective.w.len();
        let penalty = self.penalty();
        let mut steps = WarmSteps::new(MAX_DENSE);
        let mut chosen = vec![false; n];
        let mut scores = vec![0.0; n];
        let mut value = objective.value; // with the penalty
        let mut end = Stop::Converged;
        // A candidate with a score but without a gain, such as a copy of a chosen feature, is
        // omitted until another one gains.
        let mut is_fruitless = vec![false; n];
        let mut n_fruitless = 0; // rounds in a row
        let mut n_rounds: usize = 0; // that gained
        loop {
            let n_chosen = chosen.iter().filter(|&&chosen| chosen).count();
            let room = self.most.saturating_sub(n_chosen).min(self.per_round);
            if room == 0 || n_rounds >= self.most.saturating_mul(MAX_ROUNDS) {
                return Ok(Stop::Budget);
            }
            if n_fruitless == 0 {
                scores.fill(0.0);
                end = scorer.score(objective, &chosen, &mut scores)?;
            }
            // Training leads nowhere along a candidate without a slope, such as one that chosen
            // features express together: such candidates come last. The slopes of trained features
            // are not exactly zero either and serve as the measure, in units.
            let slope = |k: usize| {
                pseudo_gradient(objective.w[k], objective.gradient[k] + self.l2 * objective.w[k], self.l1)
                    .abs()
                    / objective.units[k]
            };
            let residual = (0..n).filter(|&k| chosen[k]).map(slope).fold(0.0, f64::max);
            let is_free = |k: usize| !chosen[k] && !is_fruitless[k];
            let mut best = top_scores(&scores, |k| is_free(k) && slope(k) > 2.0 * residual, room);
            if best.is_empty() {
                best = top_scores(&scores, is_free, room);
            }
            if best.is_empty() {
                return Ok(if n_fruitless > 0 { Stop::NoProgress } else { end });
            }
            best.iter().for_each(|&k| chosen[k] = true);
            let features: Vec<usize> = (0..n).filter(|&k| chosen[k]).collect();
            let snapshot = objective.snapshot();
            let (new_value, stop) = objective.train(&features, &penalty, &self.stop, &mut steps, run)?;
            if stop == Stop::Observer {
                return Ok(stop);
            }
            let fall = value - new_value;
            if fall <= MIN_FALL * value.abs() {
                objective.restore(snapshot);
                n_fruitless += 1;
                if n_fruitless == MAX_FRUITLESS {
                    return Ok(Stop::NoProgress);
                }
                for &k in &best {
                    chosen[k] = false;
                    is_fruitless[k] = true;
                }
                continue;
            }
            is_fruitless.fill(false);
            n_fruitless = 0;
            if !scorer.is_worthwhile(fall, best.len()) {
                return Ok(Stop::Converged);
            }
            value = new_value;
            n_rounds += 1;
            // A feature whose weight the penalty has driven back to zero is a candidate again.
            (0..n).for_each(|k| chosen[k] = objective.w[k] != 0.0);
            let support = objective.support();
            let weights = objective.weights(&support);
            if reporter.report(&support, Some(&weights), Some(value), run)?.is_break() {
                return Ok(Stop::Observer);
            }
        }
    }
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

    /// Gives the highest scores to functions that are always zero.
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
        let mut objective = CandidateObjective::new(&problem, &likelihood).unwrap();
        let mut sizes = Vec::new();
        let mut emit = |tried: Candidate<'_>| {
            sizes.push(tried.features.len());
            Ok(ControlFlow::Continue(()))
        };
        let mut reporter = PathReporter::new(&mut emit);
        let mut go_on = |_: &Iteration| ControlFlow::Continue(());
        let run = &mut FitContext::new(Seed::new(1), &mut go_on);
        let settings = ForwardSettings { l2: 0.1, ..ForwardSettings::default() };
        let stop = settings.follow(&mut objective, &mut Misled(names.clone()), &mut reporter, run).unwrap();
        assert_eq!((stop, sizes), (Stop::NoProgress, vec![1, 2, 3, 4]));
        assert!(objective.support().iter().all(|&k| !names[k].contains("zero")), "{:?}", objective.w);
    }
}
