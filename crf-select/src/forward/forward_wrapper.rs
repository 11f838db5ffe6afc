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
use crate::forward::selection_loop::{CandidateScorer, ForwardSettings, best_of};

/// Trains a model with each candidate and adds the one with which the validation data are likeliest, or the training data if
/// there are no others (Kohavi & John 1997).
///
/// The thesis rejects wrappers as too slow; so this one has a budget, and tries only the candidates with the largest
/// derivatives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ForwardWrapper {
    /// How many models are trained in all; at least 1.
    pub budget: usize,
    /// How many candidates are tried in a round; at least 1.
    pub tries: usize,
    /// What forward selection has in common.
    #[serde(flatten)]
    pub rounds: ForwardSettings,
}

impl Default for ForwardWrapper {
    fn default() -> Self {
        ForwardWrapper { budget: 1000, tries: 20, rounds: ForwardSettings::default() }
    }
}

crf_core::plugin!("selector", ForwardWrapper, "forward-wrapper");

#[typetag::serde(name = "forward-wrapper")]
impl Selector for ForwardWrapper {
    fn check(&self) -> Result<()> {
        require(self.budget >= 1, "budget", "at least 1", self.budget)?;
        require(self.tries >= 1, "tries", "at least 1", self.tries)?;
        self.rounds.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let mut field = CandidateObjective::new(problem, &likelihood)?;
        let ForwardSettings { l1, l2, stop, .. } = self.rounds;
        let learner = Mle(Minimisation { l1, l2, stop, ..Minimisation::default() });
        let mut trials = Trials { settings: self, learner, left: self.budget, seed: run.seed };
        self.rounds.forward(&mut field, &mut trials, &mut PathReporter::new(emit), run)
    }
}

struct Trials<'a> {
    settings: &'a ForwardWrapper,
    learner: Mle,
    left: usize,
    seed: Seed,
}

impl Trials<'_> {
    /// How likely the data are by which models are compared.
    fn quality(model: &dyn Model, problem: &Problem<'_>) -> Result<f64> {
        let on = problem.valid.unwrap_or(problem.train);
        let evaluation = problem.evaluate(model, on, Decode::Posterior)?;
        let each = evaluation.probabilities()?.log_likelihood.iter().enumerate();
        // Labels that training has not are impossible to every model.
        let possible = each.filter(|(_, log)| log.is_finite());
        Ok(possible.map(|(i, log)| on.data().weight(i) * log).sum())
    }

    fn model(field: &CandidateObjective<'_>, features: &[usize]) -> Result<LogLinear> {
        let map = Arc::new(field.problem.map.narrow_to(features));
        LogLinear::new(map, CandidateObjective::part(&field.w, features))
    }
}

impl CandidateScorer for Trials<'_> {
    fn score(&mut self, field: &CandidateObjective<'_>, chosen: &[bool], scores: &mut [f64]) -> Result<Stop> {
        let slopes: Vec<f64> = field.gradient.iter().map(|slope| slope.abs()).collect();
        let worth_it = best_of(&slopes, |k| !chosen[k], self.settings.tries);
        let tries = &worth_it[..worth_it.len().min(self.left)];
        self.left -= tries.len();
        let support = field.support();
        let now = Self::quality(&Self::model(field, &support)?, &field.problem)?;
        let gains = tries.par_iter().map(|&k| {
            let mut features = support.clone();
            features.insert(features.partition_point(|&other| other < k), k);
            let start = Self::model(field, &features)?;
            let train = field.problem.train.restricted(start.map());
            let problem = Problem {
                map: start.map(),
                train: &train,
                valid: None,
                start: Some(&start),
                ..field.problem
            };
            let fit = self
                .learner
                .fit(&problem, &mut FitContext::new(self.seed, &mut |_| ControlFlow::Continue(())))?;
            Ok(Self::quality(&*fit.model, &field.problem)? - now)
        });
        for (&k, gain) in tries.iter().zip(gains.collect::<Result<Vec<f64>>>()?) {
            scores[k] = gain;
        }
        Ok(if tries.len() < worth_it.len() { Stop::Budget } else { Stop::Converged })
    }
}
