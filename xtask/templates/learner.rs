use crf_core::{Fit, FitContext, Learner, LogLinear, Problem, Result, Stop, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The objective that it minimises, in one sentence (author year, equation).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewPlugin {}

crf_core::plugin!("learner", NewPlugin, "new-plugin");

#[typetag::serde(name = "new-plugin")]
impl Learner for NewPlugin {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn fit(&self, problem: &Problem<'_>, _run: &mut FitContext<'_>) -> Result<Fit> {
        // `problem.train` is the encoded dataset and `problem.map` the features: one weight per
        // feature.
        let weights = problem.start_weights()?;
        let model = Box::new(LogLinear::new(problem.map.clone(), weights)?);
        Ok(Fit { model, trace: Trace { iterations: Vec::new(), stop: Stop::Direct } })
    }
}
