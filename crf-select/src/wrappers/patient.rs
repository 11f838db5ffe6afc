use crf_core::plugin::{Named, named};
use crf_core::{Decode, Error, FitContext, Problem, Result, Selector, Stop, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

use crate::candidates::path_reporter::Emit;
use crate::candidates::path_reporter::fitted;
use crate::penalty_path::l1_path::L1Path;

/// Ends another selector's path when the error on the validation data no longer falls.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Patient {
    /// Whose path it is.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub of: Box<dyn Selector>,
    /// After how many candidates in a row without a lower error the path ends; at least 1.
    pub patience: u32,
    /// Which labelling counts.
    pub decode: Decode,
}

impl Default for Patient {
    fn default() -> Self {
        Patient { of: Box::new(L1Path::default()), patience: 20, decode: Decode::default() }
    }
}

crf_core::plugin!("selector", Patient, "patient", example = r#"of = "l1-path""#);

#[typetag::serde(name = "patient")]
impl Selector for Patient {
    fn check(&self) -> Result<()> {
        require(self.patience >= 1, "patience", "at least 1", self.patience)?;
        self.of.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let none = || Error::data("there are no validation data, which `patient` watches");
        let valid = problem.valid.ok_or_else(none)?;
        let (mut lowest, mut since, mut tired) = (f64::INFINITY, 0, false);
        let stop = self.of.path(problem, run, &mut |candidate| {
            let model = fitted(&candidate, problem.map, "patient")?;
            let error = problem.error(&model, valid, self.decode)?;
            since = if error < lowest { 0 } else { since + 1 };
            lowest = lowest.min(error);
            tired = since >= self.patience;
            let next = emit(candidate)?;
            Ok(if tired { ControlFlow::Break(()) } else { next })
        })?;
        Ok(if tired { Stop::Holdout } else { stop })
    }
}
