use crf_core::plugin::{Named, named};
use crf_core::{Decode, Error, FitContext, Problem, Result, Selector, Stop, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

use crate::candidates::path_reporter::{Emit, candidate_model};
use crate::penalty_path::l1_path::L1Path;

/// Early stopping of a path: ends another selector's path when the error on the validation data no
/// longer falls.
///
/// Saves the time for the large models at the end of a path. The wrapped selector must find
/// weights, and there must be validation data. The candidates up to there are unchanged; the choice
/// among them is made as without this wrapper.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Patient {
    /// Selector whose path is followed.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub of: Box<dyn Selector>,
    /// Number of candidates in a row without a lower error after which the path ends; at least 1.
    pub patience: u32,
    /// Labelling whose error is measured.
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
        let missing = || Error::data("there are no validation data, which `patient` watches");
        let valid = problem.valid.ok_or_else(missing)?;
        let mut lowest = f64::INFINITY;
        let mut n_since = 0; // candidates since the lowest error
        let mut is_exhausted = false;
        let stop = self.of.path(problem, run, &mut |candidate| {
            let model = candidate_model(&candidate, problem.map, "patient")?;
            let error = problem.error(&model, valid, self.decode)?;
            n_since = if error < lowest { 0 } else { n_since + 1 };
            lowest = lowest.min(error);
            is_exhausted = n_since >= self.patience;
            let next = emit(candidate)?;
            Ok(if is_exhausted { ControlFlow::Break(()) } else { next })
        })?;
        Ok(if is_exhausted { Stop::Holdout } else { stop })
    }
}
