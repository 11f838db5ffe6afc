use std::fmt::Debug;

use crate::error::Result;
use crate::evaluation::Evaluation;

/// A number that says how good predictions are.
#[typetag::serde(tag = "type")]
pub trait Metric: Debug + Send + Sync {
    /// The column under which results show it.
    fn name(&self) -> String;
    /// Whether larger values are better.
    fn higher_is_better(&self) -> bool;
    /// The value; a ratio without any case to count is 0, never NaN.
    fn measure(&self, of: &Evaluation) -> Result<f64>;
}
