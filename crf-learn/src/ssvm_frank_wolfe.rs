use crf_core::{Error, Fit, Learner, Problem, Result, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::dual::{Dual, Toward};
use crate::order::Order;
use crate::rounds::{Progress, Rounds};
use crate::ssvm::Ssvm;

/// The structural SVM by block-coordinate Frank-Wolfe steps on its dual problem (Lacoste-Julien et al. 2013).
///
/// A step decodes one sequence with the margin added and moves its share of the dual variables towards what was found, as
/// far as the value rises. Sequences come in an order drawn anew for each epoch, which ends with decoding all of them for
/// the objective. Three things differ from the paper's algorithm 4:
///
/// - The share is taken from the worst labelling that has any, not from all alike (pairwise steps, Osokin et al. 2016).
///   Then weights change in few places, and labellings with their shares are all that is kept.
/// - Before an epoch two more go over the labellings that are known, without decoding (Shah et al. 2015); among them are
///   those that the objective was computed from.
/// - The model has the last weights, those that the trace's gap is about; no average is kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SsvmFrankWolfe(pub Ssvm);

crf_core::plugin!("learner", SsvmFrankWolfe, "ssvm-frank-wolfe");

const TAG: &str = "ssvm-frank-wolfe";

#[typetag::serde(name = "ssvm-frank-wolfe")]
impl Learner for SsvmFrankWolfe {
    fn check(&self) -> Result<()> {
        self.0.check()
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut Run<'_>) -> Result<Fit> {
        if problem.start.is_some() {
            let what =
                "makes its weights of labellings and cannot begin with a model; `ssvm-subgradient` can";
            return Err(Error::Unsupported { tag: TAG, what: what.to_owned() });
        }
        let dual = Dual::new(problem, &self.0, TAG)?;
        let order = Order::new(dual.len(), &run.seed);
        self.0.learn(TAG, Epochs { ssvm: &self.0, dual, order, done: 0 }, problem, run)
    }
}

struct Epochs<'a> {
    ssvm: &'a Ssvm,
    dual: Dual<'a>,
    order: Order,
    done: u32,
}

impl Rounds for Epochs<'_> {
    fn round(&mut self) -> Result<Progress> {
        if self.done > 0 {
            self.dual.take_answers();
        }
        for toward in [Toward::Known, Toward::Known, Toward::All] {
            for &i in self.order.next() {
                self.dual.step(i, toward)?;
            }
        }
        self.done += 1;
        let objective = self.dual.primal(None)?;
        Ok(self.ssvm.progress(objective, Some(self.dual.value()), 2 * self.done))
    }

    fn weights(&self) -> &[f64] {
        self.dual.w()
    }
}
