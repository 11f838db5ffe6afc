use std::fmt::Debug;

use crate::error::{Error, Result};
use crate::evaluation::evaluate::Evaluation;
use crate::inference::algorithm::Inference;

/// A number that says how good predictions are.
#[typetag::serde(tag = "type")]
pub trait Metric: Debug + Send + Sync {
    /// The column under which results show it.
    fn name(&self) -> String;
    /// Whether larger values are better.
    fn higher_is_better(&self) -> bool;
    /// What it looks at beside labels.
    fn needs(&self) -> Needs {
        Needs::Labels
    }
    /// The value; a ratio without any case to count is 0, never NaN.
    fn measure(&self, of: &Evaluation) -> Result<f64>;
}

/// What a metric looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Predicted labels.
    Labels,
    /// log Z and marginals too.
    Probabilities,
    /// And those of an inference to compare with.
    Reference,
    /// The model's parameters.
    Parameters,
    /// The labellings that are most likely as a whole, whatever the answers are.
    Viterbi,
    /// How the model was trained.
    Training,
}

impl Needs {
    /// Refuses an inference, or a reference, that does not give what is needed, before anything is trained.
    pub fn check(self, inference: &dyn Inference, reference: Option<&dyn Inference>) -> Result<()> {
        match (self, reference) {
            (Needs::Labels | Needs::Parameters | Needs::Viterbi | Needs::Training, _) => Ok(()),
            (Needs::Probabilities, _) => inference.require_marginals().map(|_| ()),
            (Needs::Reference, None) => Err(Error::data(
                "it compares with a `reference` inference, such as `junction-tree`, and there is none",
            )),
            (Needs::Reference, Some(reference)) => {
                inference.require_marginals()?;
                reference.require_marginals().map(|_| ()).map_err(|error| error.at("reference"))
            }
        }
    }
}
