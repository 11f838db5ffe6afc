use crf_core::{Candidate, FitContext, Problem, Result, Selector, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// The criterion that chooses features, in one sentence (author year, equation).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewPlugin {}

crf_core::plugin!("selector", NewPlugin, "new-plugin");

#[typetag::serde(name = "new-plugin")]
impl Selector for NewPlugin {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn path(
        &self,
        problem: &Problem<'_>,
        run: &mut FitContext<'_>,
        emit: &mut dyn FnMut(Candidate<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<Stop> {
        // Candidates from small to large, the features of each in ascending order.
        let features: Vec<usize> = (0..problem.map.len()).collect();
        let _ =
            emit(Candidate { features: &features, weights: None, objective: None, seconds: run.seconds() })?;
        Ok(Stop::Direct)
    }
}
