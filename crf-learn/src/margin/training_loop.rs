use crf_core::{Fit, FitContext, Iteration, LogLinear, Problem, Result, Stop, Trace};

use crate::margin::decoder::Decoder;
use crate::margin::ssvm::ROUNDING;
use crate::training::early_stopping::EarlyStopping;
use crate::training::usable_model::require_usable;

/// A learner that passes over the data in rounds; the loop around them is [`run_rounds`].
pub(crate) trait IterativeLearner {
    /// Passes over the data once.
    fn round(&mut self) -> Result<Progress>;
    /// Weights that the model would have now.
    fn weights(&self) -> &[f64];
}

/// Result of a round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    /// Value of the objective.
    pub(crate) objective: f64,
    /// Lower bound on its minimum, if one is known.
    pub(crate) dual: Option<f64>,
    /// Number of times that all sequences were decoded so far.
    pub(crate) evaluations: u32,
    /// True if there is nothing left to do.
    pub(crate) done: bool,
}

/// Limits of the rounds of a learner.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundLimits<'a> {
    /// Tag of the learner.
    pub(crate) tag: &'a str,
    /// Maximum number of rounds.
    pub(crate) rounds: u32,
    /// Rounds without improvement on the validation data before stopping; 0 disables early
    /// stopping.
    pub(crate) patience: u32,
}

/// Number of rounds in which the duality gap must shrink or the dual value rise. Where columns
/// differ in size by many orders, rounding ends the progress long before the limit of rounds.
const MAX_IDLE_ROUNDS: u32 = 50;

/// Runs rounds until the learner is done, a limit is reached, neither the duality gap shrinks nor
/// the dual value rises any more, or the number of wrong positions in the validation data no longer
/// falls. The model has the weights of the last round, or with early stopping those that did best
/// on the validation data.
pub(crate) fn run_rounds(
    mut learner: impl IterativeLearner,
    limits: RoundLimits<'_>,
    problem: &Problem<'_>,
    run: &mut FitContext<'_>,
) -> Result<Fit> {
    let valid = if limits.patience > 0 { Decoder::of_valid(problem, limits.tag)? } else { None };
    let mut early_stopping = valid.map(|mut valid| {
        EarlyStopping::new(limits.patience, move |w: &[f64]| valid.all_mistakes(w).map(|wrong| wrong as f64))
    });
    let mut before = learner.weights().to_vec();
    let mut iterations = Vec::new();
    // Smallest gap and largest dual value, and the last round in which one of them became better.
    let mut best = (f64::INFINITY, f64::NEG_INFINITY, 0);
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
            holdout: early_stopping.as_mut().map(|stopping| stopping.see(w)).transpose()?,
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
        if early_stopping.as_ref().is_some_and(EarlyStopping::is_exhausted) {
            break Stop::Holdout;
        }
        if let Some(dual) = dual {
            let gap = objective - dual;
            let least = ROUNDING * objective.abs();
            if gap < best.0 - least || dual > best.1 + least {
                best = (gap.min(best.0), dual.max(best.1), round);
            } else if round - best.2 >= MAX_IDLE_ROUNDS {
                break Stop::NoProgress;
            }
        }
        if round == limits.rounds {
            break Stop::Budget;
        }
    };
    let w = early_stopping.and_then(EarlyStopping::best).unwrap_or(before);
    let model = LogLinear::new(problem.map.clone(), w)?;
    require_usable(&model, problem)?;
    Ok(Fit { model: Box::new(model), trace: Trace { iterations, stop } })
}
