use std::ops::ControlFlow;

use crf_core::plugin::{Named, named};
use crf_core::{FitContext, Problem, Result, Selector, Stop, feature_units, warn_of_units};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::path_reporter::{Emit, OwnedCandidate};
use crate::penalty_path::l1_path::L1Path;

/// End of a path: the last candidate of another selector's path, which is compared with no other.
///
/// For paths that end where they should, by a penalty or by a number of features that is known
/// beforehand. It needs no validation data. Most paths go on for longer than is good for a model,
/// so their end is no substitute for a choice.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Last {
    /// Selector whose path is followed.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub of: Box<dyn Selector>,
}

impl Default for Last {
    fn default() -> Self {
        Last { of: Box::new(L1Path::default()) }
    }
}

crf_core::plugin!("selector", Last, "last", example = r#"of = { type = "l1-path", most = 20 }"#);

#[typetag::serde(name = "last")]
impl Selector for Last {
    fn check(&self) -> Result<()> {
        self.of.check()
    }

    fn proposes_one(&self) -> bool {
        true
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        warn_of_units(problem.map, &feature_units(problem.map, problem.train));
        let mut last = None;
        let stop = self.of.path(problem, run, &mut |candidate| {
            last = Some(OwnedCandidate::new(&candidate));
            Ok(ControlFlow::Continue(()))
        })?;
        if let Some(last) = &last {
            let _ = emit(last.borrow())?;
        }
        Ok(stop)
    }
}
