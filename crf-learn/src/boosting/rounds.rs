use crf_core::{FitContext, Iteration, Result, Stop, Trace};

use crate::training::early_stopping::Patience;

/// Something that grows by one weak learner, or one for each label, in a round.
pub(crate) trait Ensemble {
    /// Adds the next weak learners.
    fn round(&mut self, round: u32) -> Result<Round>;
}

/// What a round came to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    /// The loss after it.
    pub(crate) objective: f64,
    /// The length of its slope before.
    pub(crate) gradient_norm: f64,
    /// How many parameters there are by now.
    pub(crate) size: usize,
    /// The loss on the validation data, where they are watched.
    pub(crate) holdout: Option<f64>,
    /// Whether there is nothing left to add.
    pub(crate) done: bool,
}

/// Lets an ensemble grow for so many rounds, or until the loss on its validation data has not fallen for `patience` of them; gives
/// the trace and how many rounds are to be kept.
pub(crate) fn boost(
    ensemble: &mut dyn Ensemble,
    rounds: u32,
    patience: u32,
    run: &mut FitContext<'_>,
) -> Result<(Trace, usize)> {
    let (mut patience, mut iterations, mut best) = (Patience::new(patience), Vec::new(), 0);
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
