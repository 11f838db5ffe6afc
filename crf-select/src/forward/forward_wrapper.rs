use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{
    Decode, FitContext, Learner as _, LogLinear, Model, Problem, Result, Seed, Selector, Stop, require,
};
use crf_learn::{Minimisation, Mle};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::objective::{CandidateObjective, likelihood};
use crate::candidates::path_reporter::{Emit, PathReporter};
use crate::candidates::top_scores::top_scores;
use crate::forward::selection_loop::{CandidateScorer, ForwardSettings};

/// Wrapper: forward selection that trains a model with each candidate and adds those with the
/// largest likelihood of the validation data, or of the training data if there are no validation
/// data (Kohavi & John 1997).
///
/// It measures what the other selectors estimate, and is slow: for small problems, or as a
/// reference. So it has a budget of models, and tries only the candidates with the largest
/// derivatives. Vail (2008) rejects wrappers as too slow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ForwardWrapper {
    /// Maximum number of models that are trained in all; at least 1.
    pub budget: usize,
    /// Number of candidates that are tried in a round; at least 1.
    pub tries: usize,
    /// Settings of forward selection.
    #[serde(flatten)]
    pub settings: ForwardSettings,
}

impl Default for ForwardWrapper {
    fn default() -> Self {
        ForwardWrapper { budget: 1000, tries: 20, settings: ForwardSettings::default() }
    }
}

crf_core::plugin!("selector", ForwardWrapper, "forward-wrapper");

#[typetag::serde(name = "forward-wrapper")]
impl Selector for ForwardWrapper {
    fn check(&self) -> Result<()> {
        require(self.budget >= 1, "budget", "at least 1", self.budget)?;
        require(self.tries >= 1, "tries", "at least 1", self.tries)?;
        self.settings.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let mut objective = CandidateObjective::new(problem, &likelihood)?;
        let ForwardSettings { l1, l2, stop, .. } = self.settings;
        let learner = Mle(Minimisation { l1, l2, stop, ..Minimisation::default() });
        let mut trials = Trials { settings: self, learner, budget: self.budget, seed: run.seed };
        self.settings.follow(&mut objective, &mut trials, &mut PathReporter::new(emit), run)
    }
}

/// Scores by training: the gain of likelihood of a model with the candidate.
struct Trials<'a> {
    settings: &'a ForwardWrapper,
    learner: Mle,
    budget: usize, // models that may still be trained
    seed: Seed,
}

impl Trials<'_> {
    /// Log-likelihood of the data by which models are compared.
    fn log_likelihood(model: &dyn Model, problem: &Problem<'_>) -> Result<f64> {
        let data = problem.valid.unwrap_or(problem.train);
        let evaluation = problem.evaluate(model, data, Decode::Posterior)?;
        let by_sequence = evaluation.probabilities()?.log_likelihood.iter().enumerate();
        // A sequence with a label that the training data do not have is impossible under every
        // model.
        let possible = by_sequence.filter(|(_, log)| log.is_finite());
        Ok(possible.map(|(i, log)| data.data().weight(i) * log).sum())
    }

    /// The current model, with a weight of zero for new features.
    fn model(objective: &CandidateObjective<'_>, features: &[usize]) -> Result<LogLinear> {
        let map = Arc::new(objective.problem.map.narrow_to(features));
        LogLinear::new(map, objective.weights(features))
    }
}

impl CandidateScorer for Trials<'_> {
    fn score(
        &mut self,
        objective: &CandidateObjective<'_>,
        chosen: &[bool],
        scores: &mut [f64],
    ) -> Result<Stop> {
        let slopes: Vec<f64> = objective.gradient.iter().map(|slope| slope.abs()).collect();
        let worth_trying = top_scores(&slopes, |k| !chosen[k], self.settings.tries);
        let tries = &worth_trying[..worth_trying.len().min(self.budget)];
        self.budget -= tries.len();
        let support = objective.support();
        let current = Self::log_likelihood(&Self::model(objective, &support)?, &objective.problem)?;
        let gains = tries.par_iter().map(|&k| {
            let mut features = support.clone();
            features.insert(features.partition_point(|&other| other < k), k);
            let start = Self::model(objective, &features)?;
            let train = objective.problem.train.restricted(start.map());
            let problem = Problem {
                map: start.map(),
                train: &train,
                valid: None,
                start: Some(&start),
                ..objective.problem
            };
            let fit = self
                .learner
                .fit(&problem, &mut FitContext::new(self.seed, &mut |_| ControlFlow::Continue(())))?;
            Ok(Self::log_likelihood(&*fit.model, &objective.problem)? - current)
        });
        for (&k, gain) in tries.iter().zip(gains.collect::<Result<Vec<f64>>>()?) {
            scores[k] = gain;
        }
        Ok(if tries.len() < worth_trying.len() { Stop::Budget } else { Stop::Converged })
    }
}
