use crf_core::{FitContext, Iteration, Result, Stop, Trace};

use crate::training::early_stopping::Patience;

/// An ensemble that grows by one weak learner, or one for each label, in a round.
pub(crate) trait Ensemble {
    /// Adds the weak learners of the next round.
    fn round(&mut self, round: u32) -> Result<Round>;
}

/// Result of a round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    /// Loss after the round.
    pub(crate) objective: f64,
    /// Norm of the gradient of the loss before the round.
    pub(crate) gradient_norm: f64,
    /// Number of parameters so far.
    pub(crate) size: usize,
    /// Loss on the validation data, if these are watched.
    pub(crate) holdout: Option<f64>,
    /// True if there is nothing left to add.
    pub(crate) done: bool,
}

/// Grows an ensemble for at most `rounds` rounds, or until the loss on its validation data has not
/// fallen for `patience` of them. Returns the trace and the number of rounds to keep.
pub(crate) fn boost(
    ensemble: &mut dyn Ensemble,
    rounds: u32,
    patience: u32,
    run: &mut FitContext<'_>,
) -> Result<(Trace, usize)> {
    let mut patience = Patience::new(patience);
    let mut iterations = Vec::new();
    let mut best = 0;
    let stop = loop {
        let round = iterations.len() as u32 + 1;
        let Round { objective, gradient_norm, size, holdout, done } = ensemble.round(round)?;
        let record = Iteration {
            iteration: round,
            objective,
            gradient_norm,
            non_zeros: size,
            evaluations: round + 1,
            holdout,
            dual: None,
            seconds: run.seconds(),
        };
        let next = run.observe(&record);
        iterations.push(record);
        if holdout.is_none_or(|loss| patience.see(loss)) {
            best = iterations.len();
        }
        if next.is_break() {
            break Stop::Observer;
        }
        if done {
            break Stop::Converged;
        }
        if holdout.is_some() && patience.is_exhausted() {
            break Stop::Holdout;
        }
        if round == rounds {
            break Stop::Budget;
        }
    };
    Ok((Trace { iterations, stop }, best))
}
