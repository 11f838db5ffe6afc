use crf_core::{Fit, FitContext, Learner, Problem, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::margin::decoder::Decoder;
use crate::margin::ssvm::simplex_qp::SimplexQp;
use crate::margin::ssvm::{ROUNDING, Ssvm};
use crate::margin::training_loop::{IterativeLearner, Progress};

/// Structured SVM by cutting planes with one slack for all sequences (Joachims, Finley & Yu 2009,
/// algorithm 3).
///
/// An iteration decodes all sequences on all cores, and sums the labellings found into one plane
/// below the objective. The weights are then the minimum of the planes so far; planes that have not
/// been active for long are dropped. The model has the weights with the lowest objective.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SsvmOneSlack(pub Ssvm);

crf_core::plugin!(
    "learner",
    SsvmOneSlack,
    "ssvm-one-slack",
    example = "
c = 0.1

[margin]
costs = { rain = 2.0 }
"
);

/// Fraction of the gap to which the quadratic program is solved.
const PRECISION: f64 = 0.01;
/// Number of iterations without a share after which a plane is dropped.
const MAX_IDLE: u32 = 50;

#[typetag::serde(name = "ssvm-one-slack")]
impl Learner for SsvmOneSlack {
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
        const TAG: &str = "ssvm-one-slack";
        let decoder = Decoder::new(problem, &self.0.margin, TAG)?;
        let w = problem.start_weights()?;
        let planes = Planes {
            ssvm: &self.0,
            decoder,
            program: SimplexQp::new(self.0.c),
            planes: vec![Plane { normal: Vec::new(), idle: 0 }],
            newest: vec![0.0; w.len()],
            model: w.clone(),
            lowest: f64::INFINITY,
            w,
            done: 0,
        };
        self.0.run_solver(TAG, planes, problem, run)
    }
}

struct Planes<'a> {
    ssvm: &'a Ssvm,
    decoder: Decoder<'a>,
    program: SimplexQp,
    planes: Vec<Plane>, // the first is zero
    newest: Vec<f64>,   // [weights] normal of the newest plane
    w: Vec<f64>,
    model: Vec<f64>,
    lowest: f64,
    done: u32,
}

/// The plane Σ_i weight_i (F(x_i, y_i) − F(x_i, y)) of one labelling y of each sequence.
///
/// Most weights are of features that are right or do not occur, so the entries that are not 0 are
/// few beside them.
struct Plane {
    normal: Vec<(u32, f64)>, // ascending weights, with their entries
    idle: u32,               // iterations since it last had a share
}

impl IterativeLearner for Planes<'_> {
    fn round(&mut self) -> Result<Progress> {
        self.done += 1;
        if self.planes.len() > 1 {
            let gap = self.lowest - self.program.value();
            self.program.solve(PRECISION * gap.max(ROUNDING * self.lowest));
            self.take_solution();
        }
        let objective = self.ssvm.objective(&mut self.decoder, &self.w)?;
        if objective < self.lowest {
            self.lowest = objective;
            self.model.copy_from_slice(&self.w);
        }
        let dual = self.program.value();
        self.add_plane();
        Ok(self.ssvm.progress(self.lowest, Some(dual), self.done))
    }

    fn weights(&self) -> &[f64] {
        &self.model
    }
}

impl Planes<'_> {
    /// Sets the weights to w = Σ_k α_k plane_k, and drops idle planes.
    fn take_solution(&mut self) {
        self.w.fill(0.0);
        for (plane, &alpha) in self.planes.iter_mut().zip(self.program.alpha()) {
            plane.idle = if alpha > 0.0 { 0 } else { plane.idle + 1 };
            if alpha > 0.0 {
                plane.normal.iter().for_each(|&(k, entry)| self.w[k as usize] += alpha * entry);
            }
        }
        for k in (1..self.planes.len()).rev() {
            if self.planes[k].idle > MAX_IDLE {
                self.planes.swap_remove(k);
                self.program.remove(k);
            }
        }
    }

    fn add_plane(&mut self) {
        self.decoder.sum_differences(&mut self.newest);
        let newest = &self.newest;
        let normal =
            (0..).zip(newest).filter(|(_, entry)| **entry != 0.0).map(|(k, entry)| (k, *entry)).collect();
        let costs =
            self.decoder.violations().map(|(i, violation, _)| self.decoder.weight(i) * violation.cost);
        let cost = costs.sum();
        self.planes.push(Plane { normal, idle: 0 });
        let product = |plane: &Plane| plane.normal.iter().map(|&(k, entry)| entry * newest[k as usize]).sum();
        self.program.add(self.planes.iter().map(product).collect(), cost);
    }
}
