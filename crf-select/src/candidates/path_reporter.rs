use crf_core::{Candidate, FeatureMap, FitContext, Result};
use std::ops::ControlFlow;

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

/// The map of some features, ascending, of another.
pub(crate) fn narrow(map: &FeatureMap, features: &[usize]) -> FeatureMap {
    let mut wanted = features.iter().peekable();
    map.narrow(|k| wanted.next_if_eq(&&k).is_some()).0
}
