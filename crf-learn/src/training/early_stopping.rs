use crf_core::{EncodedDataset, Problem, Result};

use crate::objectives::objective::Objective;
use crate::objectives::sharded::Sharded;

/// Loss on the validation data as a function of the weights.
type Loss<'a> = dyn FnMut(&[f64]) -> Result<f64> + 'a;

/// Early stopping on validation data: ends a training whose validation loss no longer falls, and
/// keeps the best weights.
pub struct EarlyStopping<'a> {
    loss: Box<Loss<'a>>,
    patience: Patience,
    weights: Vec<f64>,
}

impl<'a> EarlyStopping<'a> {
    /// Stops after `patience` iterations in a row without a lower `loss`.
    pub fn new(patience: u32, loss: impl FnMut(&[f64]) -> Result<f64> + 'a) -> Self {
        EarlyStopping { loss: Box::new(loss), patience: Patience::new(patience), weights: Vec::new() }
    }

    /// Early stopping on the objective that `objective` makes of the validation data of a problem;
    /// `None` without such data, or if `patience` is 0.
    pub(crate) fn over_valid<O: Objective + 'a>(
        patience: u32,
        objective: impl Fn(&Problem<'a>) -> Result<O>,
        problem: &Problem<'a>,
    ) -> Result<Option<Self>> {
        let valid = problem.valid.filter(|_| patience > 0);
        let early_stopping = |valid: &'a EncodedDataset| {
            let mut sharded = Sharded::new(objective(&Problem { train: valid, ..*problem })?);
            let mut gradient = vec![0.0; sharded.objective().dim()];
            Ok(EarlyStopping::new(patience, move |w: &[f64]| sharded.evaluate(w, &mut gradient)))
        };
        valid.map(early_stopping).transpose()
    }

    /// Records the weights of an iteration, and returns their loss.
    pub fn see(&mut self, w: &[f64]) -> Result<f64> {
        let loss = (self.loss)(w)?;
        if self.patience.see(loss) {
            self.weights.clear();
            self.weights.extend_from_slice(w);
        }
        Ok(loss)
    }

    /// True if the loss has not fallen for too many iterations.
    pub fn is_exhausted(&self) -> bool {
        self.patience.is_exhausted()
    }

    /// Best weights so far; `None` if no loss was finite.
    pub fn best(self) -> Option<Vec<f64>> {
        self.patience.has_best().then_some(self.weights)
    }
}

/// Counter of iterations without improvement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    limit: u32,
    since_best: u32,
    best: f64,
}

impl Patience {
    /// Is exhausted after `limit` losses in a row that were not lower than the best.
    pub(crate) fn new(limit: u32) -> Self {
        Patience { limit, since_best: 0, best: f64::INFINITY }
    }

    /// Records a loss; true if it is lower than all before.
    pub(crate) fn see(&mut self, loss: f64) -> bool {
        let better = loss < self.best;
        (self.best, self.since_best) = if better { (loss, 0) } else { (self.best, self.since_best + 1) };
        better
    }

    /// True after too many losses without improvement.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.since_best >= self.limit
    }

    /// True if a loss was finite.
    pub(crate) fn has_best(&self) -> bool {
        self.best.is_finite()
    }
}
