use crf_core::{Candidate, FitContext, Problem, Result, Selector, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// No selection: the one candidate has every feature. The default, and the baseline for the other
/// selectors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct None {}

crf_core::plugin!("selector", None, "none");

#[typetag::serde(name = "none")]
impl Selector for None {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn keeps_all(&self) -> bool {
        true
    }

    fn path(
        &self,
        problem: &Problem<'_>,
        run: &mut FitContext<'_>,
        emit: &mut dyn FnMut(Candidate<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<Stop> {
        let features: Vec<usize> = (0..problem.map.len()).collect();
        let (weights, objective) = (Option::None, Option::None);
        let _ = emit(Candidate { features: &features, weights, objective, seconds: run.seconds() })?;
        Ok(Stop::Direct)
    }
}
