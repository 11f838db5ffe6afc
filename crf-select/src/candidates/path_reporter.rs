use crf_core::{Candidate, Error, FeatureMap, FitContext, LogLinear, Result};
use std::ops::ControlFlow;
use std::sync::Arc;

/// What becomes of a candidate.
pub(crate) type Emit<'e> = dyn FnMut(Candidate<'_>) -> Result<ControlFlow<()>> + 'e;

/// A selector's side of a path: shows candidates, with the time that selection alone has taken.
pub(crate) struct PathReporter<'e> {
    emit: &'e mut Emit<'e>,
    away: f64, // seconds that others spent on candidates
}

impl<'e> PathReporter<'e> {
    pub(crate) fn new(emit: &'e mut Emit<'e>) -> Self {
        PathReporter { emit, away: 0.0 }
    }

    /// Shows a candidate of some features, ascending, with what is known of it.
    pub(crate) fn show(
        &mut self,
        features: &[usize],
        weights: Option<&[f64]>,
        objective: Option<f64>,
        run: &FitContext<'_>,
    ) -> Result<ControlFlow<()>> {
        let now = run.seconds();
        let next = (self.emit)(Candidate { features, weights, objective, seconds: now - self.away })?;
        self.away += run.seconds() - now;
        Ok(next)
    }
}

/// The model of a candidate that comes with weights; the selector `tag` can do nothing with one that does not.
pub(crate) fn fitted(candidate: &Candidate<'_>, map: &FeatureMap, tag: &'static str) -> Result<LogLinear> {
    let weights = candidate.weights.ok_or_else(|| Error::Unsupported {
        tag,
        what: "needs candidates with weights, as selectors find that train their models".into(),
    })?;
    LogLinear::new(Arc::new(map.narrow_to(candidate.features)), weights.to_vec())
}
