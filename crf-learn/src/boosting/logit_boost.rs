use crf_core::{Fit, FitContext, Learner, Problem, Result, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::boosting::additive_model::AdditiveModel;
use crate::boosting::virtual_evidence_boosting::{VirtualEvidenceBoosting, check, fit};

/// LogitBoost: stumps for single positions (Friedman, Hastie & Tibshirani 2000, algorithm 6).
///
/// It is `virtual-evidence-boosting` without neighbours: transition features have no effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogitBoost {
    /// Maximum number of weak learners; at least 1.
    pub rounds: u32,
    /// Factor of the values of weak learners; above 0 and at most 1.
    pub shrinkage: f64,
    /// Maximum number of bins that the values of a number are cut into, which gives the thresholds
    /// of stumps; from 2 to 65536.
    pub bins: usize,
    /// Minimum gain: stop when no weak learner is expected to lower the loss by this much, in units
    /// of log likelihood; at least 0. With 0 rounds go on with weak learners that fit chance.
    pub min_gain: f64,
    /// Early stopping: rounds without improvement on the validation data (in the loss) before
    /// stopping; the rounds up to the best one are kept. 0 disables it.
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

    /// Boosts for a learner of the given tag; returns the model, whose edges tie nothing, and the
    /// trace.
    pub(crate) fn boost(
        &self,
        tag: &'static str,
        problem: &Problem<'_>,
        run: &mut FitContext<'_>,
    ) -> Result<(AdditiveModel, Trace)> {
        fit(&self.stumps(), tag, false, problem, run)
    }

    /// State functions that the weak learners look at, ascending: the selection of features that
    /// boosting makes for another learner.
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
