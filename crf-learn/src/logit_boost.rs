use crf_core::{Fit, Learner, Problem, Result, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::virtual_evidence_boosting::{VirtualEvidenceBoosting, check, fit};

/// Stumps for positions by themselves, by LogitBoost (Friedman, Hastie & Tibshirani 2000, algorithm 6).
///
/// It is `virtual-evidence-boosting` without any neighbour: transition features do not concern it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogitBoost {
    /// How many weak learners there are at most; at least 1.
    pub rounds: u32,
    /// What the values of weak learners are multiplied by; above 0 and at most 1.
    pub shrinkage: f64,
    /// Into how many bins the values of a number are cut at most, which gives the thresholds of stumps; from 2 to 65536.
    pub bins: usize,
    /// With validation data: stop after so many rounds in a row in which the loss did not fall there, and keep the rounds
    /// up to the one where it was lowest; 0 does not look at them.
    pub patience: u32,
}

impl Default for LogitBoost {
    fn default() -> Self {
        let VirtualEvidenceBoosting { rounds, shrinkage, bins, patience, .. } =
            VirtualEvidenceBoosting::default();
        LogitBoost { rounds, shrinkage, bins, patience }
    }
}

crf_core::plugin!("learner", LogitBoost, "logit-boost");

impl LogitBoost {
    fn stumps(&self) -> VirtualEvidenceBoosting {
        let LogitBoost { rounds, shrinkage, bins, patience } = *self;
        VirtualEvidenceBoosting { rounds, shrinkage, bins, patience, ..VirtualEvidenceBoosting::default() }
    }
}

#[typetag::serde(name = "logit-boost")]
impl Learner for LogitBoost {
    fn check(&self) -> Result<()> {
        check(&self.stumps())
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut Run<'_>) -> Result<Fit> {
        fit(&self.stumps(), "logit-boost", false, problem, run)
    }
}
