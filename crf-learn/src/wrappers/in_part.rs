use crf_core::plugin::{Named, named};
use crf_core::{Fit, FitContext, Learner, Problem, Result, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log_linear::mle::Mle;

/// A learner on one part of the training and validation data.
///
/// Parts are equal numbers of sequences in the order of the data, as the source `domains` makes
/// them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InPart {
    /// Part to learn from, counted from 1.
    pub part: usize,
    /// Number of parts; at least 1.
    pub of: usize,
    /// Learner of the part.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub learner: Box<dyn Learner>,
}

impl Default for InPart {
    fn default() -> Self {
        InPart { part: 1, of: 1, learner: Box::new(Mle::default()) }
    }
}

crf_core::plugin!("learner", InPart, "in-part");

#[typetag::serde(name = "in-part")]
impl Learner for InPart {
    fn check(&self) -> Result<()> {
        let is_part = (1..=self.of).contains(&self.part);
        require(is_part, "part", &format!("from 1 to {}, the number of parts", self.of), self.part)?;
        self.learner.check()
    }

    fn fits_probabilities(&self) -> bool {
        self.learner.fits_probabilities()
    }

    fn watches_validation(&self) -> bool {
        self.learner.watches_validation()
    }

    fn heeds_sizes(&self) -> bool {
        self.learner.heeds_sizes()
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        let train = problem.train.part(self.part, self.of)?;
        let valid = problem.valid.map(|valid| valid.part(self.part, self.of)).transpose()?;
        self.learner.fit(&Problem { train: &train, valid: valid.as_ref(), ..*problem }, run)
    }
}
