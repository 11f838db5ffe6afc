use crf_core::{Fit, FitContext, Learner, Problem, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::margin::ssvm::Ssvm;
use crate::margin::ssvm::dual::{SsvmDual, StepTarget};
use crate::margin::training_loop::{IterativeLearner, Progress};
use crate::training::shuffled_order::ShuffledOrder;

/// Structured SVM by block-coordinate Frank-Wolfe steps on the dual problem (Lacoste-Julien et al.
/// 2013).
///
/// A step decodes one sequence with the margin added, and moves the share of the sequence in the
/// dual variables towards the labelling that was found, as far as the dual value rises. Sequences
/// come in an order drawn anew for each epoch, which ends with decoding all of them for the
/// objective. Three things differ from algorithm 4 of the paper:
///
/// - The share is taken from the worst labelling that has any, not from all alike (pairwise steps,
///   Osokin et al. 2016). Then weights change in few places, and labellings with their shares are
///   all that is stored.
/// - Before an epoch, further passes go over the known labellings, without decoding (Shah et al.
///   2015); among them are those that the objective was computed from.
/// - The model has the last weights unless `average` says otherwise. Those are averaged once per
///   epoch, not once per step; objective and gap are then those of the average.
///
/// A model to start from is decoded once: the labellings that violate the margin under its weights
/// are known from the start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SsvmFrankWolfe {
    /// Passes over the known labellings before all sequences are decoded again. More passes need
    /// fewer decodings, which pays where decoding takes most of the time.
    pub replays: u32,
    /// True if the model has a weighted average of the weights after each epoch, later ones
    /// counting more (Lacoste-Julien et al. 2013, §4).
    pub average: bool,
    /// Settings that all solvers share.
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

    fn fits_probabilities(&self) -> bool {
        false
    }

    fn watches_validation(&self) -> bool {
        self.ssvm.patience > 0
    }

    fn heeds_sizes(&self) -> bool {
        true
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        let mut dual = SsvmDual::new(problem, &self.ssvm, TAG)?;
        let mut decodings = 0;
        if problem.start.is_some() {
            dual.primal(Some(&problem.start_weights()?))?;
            dual.add_violations();
            decodings = 1;
        }
        let order = ShuffledOrder::new(dual.len(), &run.seed);
        let mean = self.average.then(|| dual.w().to_vec());
        self.ssvm.run_solver(
            TAG,
            Epochs { learner: self, dual, order, mean, done: 0, decodings },
            problem,
            run,
        )
    }
}

struct Epochs<'a> {
    learner: &'a SsvmFrankWolfe,
    dual: SsvmDual<'a>,
    order: ShuffledOrder,
    mean: Option<Vec<f64>>, // average of the weights after each epoch
    done: u32,
    decodings: u32,
}

impl IterativeLearner for Epochs<'_> {
    fn round(&mut self) -> Result<Progress> {
        if self.done > 0 {
            self.dual.add_violations();
        }
        let replays = (0..self.learner.replays).map(|_| StepTarget::Known);
        for target in replays.chain([StepTarget::All]) {
            for &i in self.order.next() {
                self.dual.step(i, target)?;
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
