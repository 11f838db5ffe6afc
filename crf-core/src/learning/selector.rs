use std::fmt::Debug;
use std::ops::ControlFlow;

use crate::error::Result;
use crate::inference::answers::Stop;
use crate::learning::learner::{FitContext, Problem};

/// Feature selector: proposes ever larger sets of features; the caller chooses among them by data
/// that the selector never sees.
#[typetag::serde(tag = "type")]
pub trait Selector: Debug + Send + Sync {
    /// Rejects settings that can never work, before any data is read.
    fn check(&self) -> Result<()>;
    /// True if all features are kept, so that there is nothing to run.
    fn keeps_all(&self) -> bool {
        false
    }
    /// True if the path has one candidate at most, which nothing is compared with; the caller then
    /// takes the first.
    fn proposes_one(&self) -> bool {
        self.keeps_all()
    }
    /// Calls `emit` with one candidate after the other, small to large, until told to stop.
    ///
    /// Candidates are passed on, not stored: a path over a million features never holds two of
    /// them.
    fn path(
        &self,
        problem: &Problem<'_>,
        run: &mut FitContext<'_>,
        emit: &mut dyn FnMut(Candidate<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<Stop>;
}

/// Point of a selection path.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Chosen features, ascending indices into the problem's feature map.
    pub features: &'a [usize],
    /// Weights of these features, if the selector fitted any.
    pub weights: Option<&'a [f64]>,
    /// Training objective of these weights.
    pub objective: Option<f64>,
    /// Seconds since selection began.
    pub seconds: f64,
}
