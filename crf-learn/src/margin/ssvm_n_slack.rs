use crf_core::{Fit, FitContext, Learner, Problem, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::margin::ssvm::dual::{SsvmDual, StepTarget};
use crate::margin::ssvm::{ROUNDING, Ssvm};
use crate::margin::training_loop::{IterativeLearner, Progress};

/// Structured SVM by cutting planes with one slack per sequence (Tsochantaridis et al. 2005,
/// algorithm 1).
///
/// An iteration decodes all sequences on all cores, adds the labellings that violate the margin to
/// the known ones, and solves the quadratic program over these by steps on one sequence after the
/// other, with a precision that follows the gap, in at most 50 passes. A model to start from gives
/// the weights of the first decoding.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SsvmNSlack(pub Ssvm);

crf_core::plugin!("learner", SsvmNSlack, "ssvm-n-slack", example = "c = 0.1");

/// Fraction of the gap to which the quadratic program is solved.
const PRECISION: f64 = 0.1;
/// Maximum number of passes over the known labellings in an iteration. Steps on data of very
/// different sizes are too many to wait for; the next iteration goes on where this one ended.
const MAX_PASSES: u32 = 50;

#[typetag::serde(name = "ssvm-n-slack")]
impl Learner for SsvmNSlack {
    fn check(&self) -> Result<()> {
        self.0.check()
    }

    fn fits_probabilities(&self) -> bool {
        false
    }

    fn watches_validation(&self) -> bool {
        self.0.patience > 0
    }

    fn heeds_sizes(&self) -> bool {
        true
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        const TAG: &str = "ssvm-n-slack";
        let dual = SsvmDual::new(problem, &self.0, TAG)?;
        let planes = Planes { ssvm: &self.0, dual, w: problem.start_weights()?, gap: None, done: 0 };
        self.0.run_solver(TAG, planes, problem, run)
    }
}

struct Planes<'a> {
    ssvm: &'a Ssvm,
    dual: SsvmDual<'a>,
    w: Vec<f64>,
    gap: Option<f64>,
    done: u32,
}

impl IterativeLearner for Planes<'_> {
    fn round(&mut self) -> Result<Progress> {
        let Planes { ssvm, dual, w, gap, done } = self;
        if let Some(gap) = gap {
            dual.add_violations();
            for _ in 0..MAX_PASSES {
                let before = dual.value();
                let mut left = 0.0;
                for i in 0..dual.len() {
                    left += dual.step(i, StepTarget::Known)?;
                }
                if left <= PRECISION * *gap || dual.value() <= before {
                    break;
                }
            }
            w.copy_from_slice(dual.w());
        }
        *done += 1;
        let (objective, value) = (dual.primal(Some(w))?, dual.value());
        *gap = Some((objective - value).max(ROUNDING * objective));
        Ok(ssvm.progress(objective, Some(value), *done))
    }

    fn weights(&self) -> &[f64] {
        &self.w
    }
}
