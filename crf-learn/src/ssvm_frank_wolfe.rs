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
/// - Before an epoch some more go over the labellings that are known, without decoding (Shah et al. 2015); among them are
///   those that the objective was computed from.
/// - The model has the last weights, those that the trace's gap is about; no average is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SsvmFrankWolfe {
    /// How often to go over the labellings that are known before all sequences are decoded once more: more need fewer
    /// decodings, which pays where these are what takes the time.
    pub replays: u32,
    /// What all solvers have in common.
    #[serde(flatten)]
    pub ssvm: Ssvm,
}

impl Default for SsvmFrankWolfe {
    fn default() -> Self {
        SsvmFrankWolfe { replays: 2, ssvm: Ssvm::default() }
    }
}

crf_core::plugin!("learner", SsvmFrankWolfe, "ssvm-frank-wolfe");

const TAG: &str = "ssvm-frank-wolfe";

#[typetag::serde(name = "ssvm-frank-wolfe")]
impl Learner for SsvmFrankWolfe {
    fn check(&self) -> Result<()> {
        self.ssvm.check()
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut Run<'_>) -> Result<Fit> {
        if problem.start.is_some() {
            let what =
                "makes its weights of labellings and cannot begin with a model; `ssvm-subgradient` can";
            return Err(Error::Unsupported { tag: TAG, what: what.to_owned() });
        }
        let SsvmFrankWolfe { replays, ssvm } = self;
        let dual = Dual::new(problem, ssvm, TAG)?;
        let order = Order::new(dual.len(), &run.seed);
        ssvm.learn(TAG, Epochs { replays: *replays, ssvm, dual, order, done: 0 }, problem, run)
    }
}

struct Epochs<'a> {
    replays: u32,
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
        let replays = (0..self.replays).map(|_| Toward::Known);
        for toward in replays.chain([Toward::All]) {
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
