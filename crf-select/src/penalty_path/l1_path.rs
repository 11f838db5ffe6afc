use crf_core::{FitContext, Problem, Result, Selector, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::objective::{CandidateObjective, likelihood};
use crate::candidates::path_reporter::{Emit, PathReporter};
use crate::penalty_path::lambda_path::LambdaPath;

/// ℓ1 path of maximum likelihood: the features with non-zero weights under ever weaker ℓ1 penalties
/// (Vail 2008, §3.2.3).
///
/// Every candidate model is a minimum of its penalised likelihood and comes with its weights. Every
/// evaluation needs inference; `m-estimator-path` is for feature sets that are too large for that.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct L1Path(pub LambdaPath);

crf_core::plugin!("selector", L1Path, "l1-path");

#[typetag::serde(name = "l1-path")]
impl Selector for L1Path {
    fn check(&self) -> Result<()> {
        self.0.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let mut objective = CandidateObjective::new(problem, &likelihood)?;
        self.0.follow(&mut objective, None, 1.0, &mut PathReporter::new(emit), run)
    }
}
