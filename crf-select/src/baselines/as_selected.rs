use crf_core::plugin::{Named, named};
use crf_core::{
    Decode, Error, Fit, FitContext, Iteration, Learner, Problem, Result, Selector, Stop, Trace, choose,
};
use crf_learn::Mle;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

use crate::penalty_path::l1_path::L1Path;

/// The model as a selector found it, without further training: "unsmoothed" in the tables of Vail
/// (2008), §3.4.
///
/// A learner that trains nothing itself. If the `selector` of the method has found weights, they
/// are kept. Otherwise the `selector` of this learner is run, and the best of its candidates is the
/// model. Without validation data its weights are those of the sequences that were not set aside
/// for the choice.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AsSelected {
    /// Selector to run if the method has none that finds weights; it must find weights.
    #[serde(deserialize_with = "named")]
    #[schemars(with = "Named")]
    pub selector: Box<dyn Selector>,
    /// Labelling of the validation data whose error decides between candidates.
    pub decode: Decode,
}

impl Default for AsSelected {
    fn default() -> Self {
        AsSelected { selector: Box::new(L1Path::default()), decode: Decode::default() }
    }
}

crf_core::plugin!("learner", AsSelected, "as-selected");

#[typetag::serde(name = "as-selected")]
impl Learner for AsSelected {
    fn check(&self) -> Result<()> {
        self.selector.check()
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        if let Some(found) = problem.start.and_then(|model| model.log_linear()) {
            let trace = Trace { iterations: Vec::new(), stop: Stop::Direct };
            return Ok(Fit { model: Box::new(found.clone()), trace });
        }
        // The iterations of the path belong to many models, so none is traced.
        let mut go_on = |_: &Iteration| ControlFlow::Continue(());
        let run = &mut FitContext::new(run.seed, &mut go_on);
        let chosen = choose(&*self.selector, &Mle::default(), self.decode, problem, run)?;
        let what = format!("trains nothing, and `{}` finds no weights", self.selector.typetag_name());
        let model = chosen.model.ok_or(Error::Unsupported { tag: "as-selected", what })?;
        Ok(Fit { model: Box::new(model), trace: Trace { iterations: Vec::new(), stop: chosen.stop } })
    }
}
