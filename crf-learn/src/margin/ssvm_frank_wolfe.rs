use crf_core::{Fit, FitContext, Learner, Problem, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::margin::ssvm::Ssvm;
use crate::margin::ssvm::dual::{SsvmDual, StepTarget};
use crate::margin::training_loop::{IterativeLearner, Progress};
use crate::training::shuffled_order::ShuffledOrder;

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
/// - The model has the last weights unless `average` says otherwise. Those are averaged once an epoch, not once a step; the
///   objective and its gap are then those of the average.
///
/// A model to begin with is decoded once: what violates the margin under its weights is known from the start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SsvmFrankWolfe {
    /// How often to go over the labellings that are known before all sequences are decoded once more: more need fewer
    /// decodings, which pays where these are what takes the time.
    pub replays: u32,
    /// Whether the model has a weighted average of the weights after each epoch, later ones counting more
    /// (Lacoste-Julien et al. 2013, §4).
    pub average: bool,
    /// What all solvers have in common.
    #[serde(flatten)]
    pub ssvm: Ssvm,
}

impl Default for SsvmFrankWolfe {
    fn default() -> Self {
        SsvmFrankWolfe { replays: 2, average: false, ssvm: Ssvm::default() }
    }
}

crf_core::plugin!("learner", SsvmFrankWolfe, "ssvm-frank-wolfe", example = "c = 0.1");

const TAG: &str = "ssvm-frank-wolfe";

#[typetag::serde(name = "ssvm-frank-wolfe")]
impl Learner for SsvmFrankWolfe {
    fn check(&self) -> Result<()> {
        self.ssvm.check()
    }

    fn watches_validation(&self) -> bool {
        self.ssvm.patience > 0
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        let mut dual = SsvmDual::new(problem, &self.ssvm, TAG)?;
        let mut decodings = 0;
        if problem.start.is_some() {
            dual.primal(Some(&problem.start_weights()?))?;
            dual.take_answers();
            decodings = 1;
        }
        let order = ShuffledOrder::new(dual.len(), &run.seed);
        let mean = self.average.then(|| dual.w().to_vec());
        self.ssvm.learn(TAG, Epochs { learner: self, dual, order, mean, done: 0, decodings }, problem, run)
    }
}

struct Epochs<'a> {
    learner: &'a SsvmFrankWolfe,
    dual: SsvmDual<'a>,
    order: ShuffledOrder,
    mean: Option<Vec<f64>>, // of the weights after each epoch
    done: u32,
    decodings: u32,
}

impl IterativeLearner for Epochs<'_> {
    fn round(&mut self) -> Result<Progress> {
        if self.done > 0 {
            self.dual.take_answers();
        }
        let replays = (0..self.learner.replays).map(|_| StepTarget::Known);
        for toward in replays.chain([StepTarget::All]) {
            for &i in self.order.next() {
                self.dual.step(i, toward)?;
            }
        }
        self.done += 1;
        self.decodings += 2;
        if let Some(mean) = &mut self.mean {
            let share = 2.0 / f64::from(self.done + 1);
            mean.iter_mut().zip(self.dual.w()).for_each(|(mean, w)| *mean += share * (w - *mean));
        }
        // Whatever the weights, the dual value bounds their objective from below.
        let objective = self.dual.primal(self.mean.as_deref())?;
        Ok(self.learner.ssvm.progress(objective, Some(self.dual.value()), self.decodings))
    }

    fn weights(&self) -> &[f64] {
        self.mean.as_deref().unwrap_or_else(|| self.dual.w())
    }
}
