use crf_core::{EncodedDataset, Problem, Result};

use crate::objectives::objective::Objective;
use crate::objectives::sharded::Sharded;
use crate::training::patience::Patience;

/// The loss on the validation data under given weights.
type Loss<'a> = dyn FnMut(&[f64]) -> Result<f64> + 'a;

/// Watches the loss on validation data: ends a training after which it no longer falls, and keeps the weights that
/// were best.
pub struct EarlyStopping<'a> {
    loss: Box<Loss<'a>>,
    patience: Patience,
    weights: Vec<f64>,
}

impl<'a> EarlyStopping<'a> {
    /// Watches `loss`, and gives up after so many iterations in a row that did not improve it.
    pub fn new(patience: u32, loss: impl FnMut(&[f64]) -> Result<f64> + 'a) -> Self {
        EarlyStopping { loss: Box::new(loss), patience: Patience::new(patience), weights: Vec::new() }
    }

    /// Watches the objective that `of` makes of a problem on its validation data, if there are any and there is patience.
    pub(crate) fn over_valid<O: Objective + 'a>(
        patience: u32,
        of: impl Fn(&Problem<'a>) -> Result<O>,
        problem: &Problem<'a>,
    ) -> Result<Option<Self>> {
        let valid = problem.valid.filter(|_| patience > 0);
        let watch = |valid: &'a EncodedDataset| {
            let mut objective = Sharded::new(of(&Problem { train: valid, ..*problem })?);
            let mut gradient = vec![0.0; objective.objective().dim()];
            Ok(EarlyStopping::new(patience, move |w: &[f64]| objective.evaluate(w, &mut gradient)))
        };
        valid.map(watch).transpose()
    }

    /// The loss under the weights of an iteration.
    pub fn see(&mut self, w: &[f64]) -> Result<f64> {
        let loss = (self.loss)(w)?;
        if self.patience.see(loss) {
            self.weights.clear();
            self.weights.extend_from_slice(w);
        }
        Ok(loss)
    }

    /// Whether patience is at its end.
    pub fn is_exhausted(&self) -> bool {
        self.patience.is_exhausted()
    }

    /// The weights that were best, if any were seen.
    pub fn best(self) -> Option<Vec<f64>> {
        self.patience.has_best().then_some(self.weights)
    }
}
