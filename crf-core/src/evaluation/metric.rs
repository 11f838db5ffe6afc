use std::fmt::Debug;

use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::evaluation::context::EvaluationContext;
use crate::inference::algorithm::Inference;

/// Metric: a number that measures the quality of predictions.
#[typetag::serde(tag = "type")]
pub trait Metric: Debug + Send + Sync {
    /// Name of its column in results.
    fn name(&self) -> String;
    /// True if larger values are better.
    fn higher_is_better(&self) -> bool;
    /// Rejects an inference, or a reference to compare with, that cannot give what the metric
    /// needs, before anything is trained.
    fn check(&self, _inference: &dyn Inference, _reference: Option<&dyn Inference>) -> Result<()> {
        Ok(())
    }
    /// Rejects labels for which the metric has no meaning.
    fn check_labels(&self, _schema: &Schema) -> Result<()> {
        Ok(())
    }
    /// True if the metric describes training, so that it has no value for a model that was not
    /// trained alone.
    fn is_of_training(&self) -> bool {
        false
    }
    /// Computes the value; a ratio without any case to count is 0, never NaN.
    fn measure(&self, context: &EvaluationContext<'_>) -> Result<f64>;
}

/// Rejects an inference without probabilities.
pub(crate) fn probabilities(inference: &dyn Inference, _reference: Option<&dyn Inference>) -> Result<()> {
    inference.require_marginals().map(|_| ())
}

/// Rejects an inference without probabilities, and a reference that is missing or has none.
pub(crate) fn compared(inference: &dyn Inference, reference: Option<&dyn Inference>) -> Result<()> {
    let reference = reference.ok_or_else(|| {
        let none = "it compares with a `reference` inference, such as `junction-tree`, and there is none";
        Error::data(none)
    })?;
    inference.require_marginals()?;
    reference.require_marginals().map(|_| ()).map_err(|error| error.at("reference"))
}
