use std::fmt::Debug;

use crate::error::{Error, Result};
use crate::evaluation::context::EvaluationContext;
use crate::inference::algorithm::Inference;

/// A number that says how good predictions are.
#[typetag::serde(tag = "type")]
pub trait Metric: Debug + Send + Sync {
    /// The column under which results show it.
    fn name(&self) -> String;
    /// True if larger values are better.
    fn higher_is_better(&self) -> bool;
    /// Refuses an inference, or a reference to compare with, that cannot give what the metric asks for, before
    /// anything is trained.
    fn check(&self, _inference: &dyn Inference, _reference: Option<&dyn Inference>) -> Result<()> {
        Ok(())
    }
    /// True if the metric is about training, so that it has no value for models that were never trained alone.
    fn is_of_training(&self) -> bool {
        false
    }
    /// The value; a ratio without any case to count is 0, never NaN.
    fn measure(&self, context: &EvaluationContext<'_>) -> Result<f64>;
}

/// Refuses an inference without probabilities.
pub(crate) fn probabilities(inference: &dyn Inference, _reference: Option<&dyn Inference>) -> Result<()> {
    inference.require_marginals().map(|_| ())
}

/// Refuses an inference without probabilities, and a reference without them or none at all.
pub(crate) fn compared(inference: &dyn Inference, reference: Option<&dyn Inference>) -> Result<()> {
    let reference = reference.ok_or_else(|| {
        let none = "it compares with a `reference` inference, such as `junction-tree`, and there is none";
        Error::data(none)
    })?;
    inference.require_marginals()?;
    reference.require_marginals().map(|_| ()).map_err(|error| error.at("reference"))
}
