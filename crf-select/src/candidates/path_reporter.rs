use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{Candidate, Error, FeatureMap, FitContext, LogLinear, Result};

/// Callback of a selector's caller, which receives one candidate after the other.
pub(crate) type Emit<'e> = dyn FnMut(Candidate<'_>) -> Result<ControlFlow<()>> + 'e;

/// Reports candidates to the caller; the caller's own time is not counted.
pub(crate) struct PathReporter<'e> {
    emit: &'e mut Emit<'e>,
    caller_seconds: f64,
}

impl<'e> PathReporter<'e> {
    pub(crate) fn new(emit: &'e mut Emit<'e>) -> Self {
        PathReporter { emit, caller_seconds: 0.0 }
    }

    /// Reports a candidate: its features, ascending, with weights and objective if they are known.
    pub(crate) fn report(
        &mut self,
        features: &[usize],
        weights: Option<&[f64]>,
        objective: Option<f64>,
        run: &FitContext<'_>,
    ) -> Result<ControlFlow<()>> {
        let now = run.seconds();
        let seconds = now - self.caller_seconds;
        let next = (self.emit)(Candidate { features, weights, objective, seconds })?;
        self.caller_seconds += run.seconds() - now;
        Ok(next)
    }
}

/// Copy of a candidate, which may be emitted later.
pub(crate) struct OwnedCandidate {
    features: Vec<usize>,
    weights: Option<Vec<f64>>,
    objective: Option<f64>,
    seconds: f64,
}

impl OwnedCandidate {
    pub(crate) fn new(candidate: &Candidate<'_>) -> Self {
        let Candidate { features, weights, objective, seconds } = *candidate;
        OwnedCandidate {
            features: features.to_vec(),
            weights: weights.map(<[f64]>::to_vec),
            objective,
            seconds,
        }
    }

    pub(crate) fn borrow(&self) -> Candidate<'_> {
        let OwnedCandidate { features, weights, objective, seconds } = self;
        Candidate { features, weights: weights.as_deref(), objective: *objective, seconds: *seconds }
    }
}

/// The model of a candidate with weights; an error in the name of the selector `tag` if it has
/// none.
pub(crate) fn candidate_model(
    candidate: &Candidate<'_>,
    map: &FeatureMap,
    tag: &'static str,
) -> Result<LogLinear> {
    let weights = candidate.weights.ok_or_else(|| Error::Unsupported {
        tag,
        what: "needs candidates with weights, as selectors find that train their models".into(),
    })?;
    LogLinear::new(Arc::new(map.narrow_to(candidate.features)), weights.to_vec())
}
