use crf_core::{Fit, FitContext, Iteration, LogLinear, Problem, Result, Stop, Trace};

use crate::margin::decoder::Decoder;
use crate::training::early_stopping::EarlyStopping;

/// A learner that goes over the data in rounds; the loop around them is [`run_rounds`].
pub(crate) trait IterativeLearner {
    /// Goes over the data once more.
    fn round(&mut self) -> Result<Progress>;
    /// The weights that the model would have now.
    fn weights(&self) -> &[f64];
}

/// What a round came to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    /// What is minimised.
    pub(crate) objective: f64,
    /// A lower bound on it.
    pub(crate) dual: Option<f64>,
    /// How often all sequences were decoded so far.
    pub(crate) evaluations: u32,
    /// Whether there is nothing left to do.
    pub(crate) done: bool,
}

/// When rounds end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundLimits<'a> {
    /// The learner.
    pub(crate) tag: &'a str,
    /// How many rounds there are at most.
    pub(crate) rounds: u32,
    /// For how many rounds the validation data may see no progress; 0 does not look at them.
    pub(crate) patience: u32,
}

/// Lets a learner go round until it is done, a limit is reached, or the number of wrong positions in the validation data
/// no longer falls; the model has the weights of the last round, or those that did best on watched validation data.
pub(crate) fn run_rounds(
    mut learner: impl IterativeLearner,
    limits: RoundLimits<'_>,
    problem: &Problem<'_>,
    run: &mut FitContext<'_>,
) -> Result<Fit> {
    let valid = if limits.patience > 0 { Decoder::of_valid(problem, limits.tag)? } else { None };
    let mut watch = valid.map(|mut valid| {
        EarlyStopping::new(limits.patience, move |w: &[f64]| valid.all_mistakes(w).map(|wrong| wrong as f64))
    });
    let mut before = learner.weights().to_vec();
    let mut iterations = Vec::new();
    let stop = loop {
        let Progress { objective, dual, evaluations, done } = learner.round()?;
        let w = learner.weights();
        let changes = w.iter().zip(&before).map(|(now, before)| (now - before).powi(2));
        let round = iterations.len() as u32 + 1;
        let record = Iteration {
            iteration: round,
            objective,
            gradient_norm: changes.sum::<f64>().sqrt(),
            non_zeros: w.iter().filter(|w| **w != 0.0).count(),
            evaluations,
            holdout: watch.as_mut().map(|watch| watch.see(w)).transpose()?,
            seconds: run.seconds(),
            dual,
        };
        before.copy_from_slice(w);
        let next = run.observe(&record);
        iterations.push(record);
        if next.is_break() {
            break Stop::Observer;
        }
        if done {
            break Stop::Converged;
        }
        if watch.as_ref().is_some_and(EarlyStopping::is_exhausted) {
            break Stop::Holdout;
        }
        if round == limits.rounds {
            break Stop::Budget;
        }
    };
    let w = watch.and_then(EarlyStopping::best).unwrap_or(before);
    let model = LogLinear::new(problem.map.clone(), w)?;
    Ok(Fit { model: Box::new(model), trace: Trace { iterations, stop } })
}
