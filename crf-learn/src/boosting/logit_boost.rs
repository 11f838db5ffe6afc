use crf_core::{Fit, FitContext, Learner, Problem, Result, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::boosting::additive_model::AdditiveModel;
use crate::boosting::virtual_evidence_boosting::{VirtualEvidenceBoosting, check, fit};

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
    /// Stop once no weak learner is expected to lower the loss by as much, in units of log likelihood; at least 0, which adds what is
    /// left by chance until all rounds are done.
    pub min_gain: f64,
    /// With validation data: stop after so many rounds in a row in which the loss did not fall there, and keep the rounds
    /// up to the one where it was lowest; 0 does not look at them.
    pub patience: u32,
}

impl Default for LogitBoost {
    fn default() -> Self {
        let VirtualEvidenceBoosting { rounds, shrinkage, bins, min_gain, patience, .. } =
            VirtualEvidenceBoosting::default();
        LogitBoost { rounds, shrinkage, bins, min_gain, patience }
    }
}

crf_core::plugin!("learner", LogitBoost, "logit-boost", example = "rounds = 10");

impl LogitBoost {
    fn stumps(&self) -> VirtualEvidenceBoosting {
        let LogitBoost { rounds, shrinkage, bins, min_gain, patience } = *self;
        let sweeps = VirtualEvidenceBoosting::default().sweeps;
        VirtualEvidenceBoosting { rounds, sweeps, shrinkage, bins, min_gain, patience }
    }

    /// The field without ties, and how it came about, for a learner of the given tag.
    pub(crate) fn boost(
        &self,
        tag: &'static str,
        problem: &Problem<'_>,
        run: &mut FitContext<'_>,
    ) -> Result<(AdditiveModel, Trace)> {
        fit(&self.stumps(), tag, false, problem, run)
    }

    /// The state functions that the weak learners look at, ascending: what boosting selects for another learner.
    pub fn select(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Vec<u32>> {
        Ok(self.boost("logit-boost", problem, run)?.0.functions())
    }
}

#[typetag::serde(name = "logit-boost")]
impl Learner for LogitBoost {
    fn check(&self) -> Result<()> {
        check(&self.stumps())
    }

    fn watches_validation(&self) -> bool {
        self.patience > 0
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        let (model, trace) = self.boost("logit-boost", problem, run)?;
        Ok(Fit { model: Box::new(model), trace })
    }
}
