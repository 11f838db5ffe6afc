use crf_core::{Error, Fit, Learner, LogLinear, Problem, Result, Run, Stop, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The model as the selector found it: what the tables of Vail (2008), §3.4 call unsmoothed.
///
/// Other learners train the selected features anew, from the selector's weights on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AsSelected {}

crf_core::plugin!("learner", AsSelected, "as-selected");

#[typetag::serde(name = "as-selected")]
impl Learner for AsSelected {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn fit(&self, problem: &Problem<'_>, _run: &mut Run<'_>) -> Result<Fit> {
        if problem.start.is_none() {
            let what = "trains nothing, and the selector found no weights: `mle` would train the features";
            return Err(Error::Unsupported { tag: "as-selected", what: what.into() });
        }
        let model = Box::new(LogLinear::new(problem.map.clone(), problem.start_weights()?)?);
        Ok(Fit { model, trace: Trace { iterations: Vec::new(), stop: Stop::Direct } })
    }
}
