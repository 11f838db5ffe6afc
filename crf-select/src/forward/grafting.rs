use crf_core::{FitContext, Problem, Result, Selector, Stop, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::objective::{CandidateObjective, likelihood};
use crate::candidates::path_reporter::{Emit, PathReporter};
use crate::forward::selection_loop::{CandidateScorer, ForwardSettings};

/// Grafting: forward selection that adds the features with the largest |∂ℓ/∂w| (Perkins, Lacker &
/// Theiler 2003; Vail 2008, equation 3.9).
///
/// A good first choice among the selectors that train: one pass over the data scores all candidates
/// of a round. With an ℓ1 penalty a feature is added only while its derivative exceeds λ₁, and the
/// path ends at the minimum under that penalty. An ℓ0 penalty ends the path at the first round
/// whose features lower the objective by less than `l0` each. Vail (2008) uses neither, and smooths
/// the chosen model afterwards.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Grafting {
    /// λ₀: cost of a feature, however small its weight; at least 0.
    pub l0: f64,
    /// Settings of forward selection.
    #[serde(flatten)]
    pub settings: ForwardSettings,
}

crf_core::plugin!("selector", Grafting, "grafting", example = "per_round = 8");

#[typetag::serde(name = "grafting")]
impl Selector for Grafting {
    fn check(&self) -> Result<()> {
        require(self.l0.is_finite() && self.l0 >= 0.0, "l0", "a finite number of at least 0", self.l0)?;
        self.settings.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let mut objective = CandidateObjective::new(problem, &likelihood)?;
        let mut scorer =
            SlopeScorer { l0: self.l0, l1: self.settings.l1, tolerance: self.settings.stop.tolerance };
        self.settings.follow(&mut objective, &mut scorer, &mut PathReporter::new(emit), run)
    }
}

/// Scores by the derivative of the likelihood.
struct SlopeScorer {
    l0: f64,
    l1: f64,
    tolerance: f64,
}

impl CandidateScorer for SlopeScorer {
    fn score(
        &mut self,
        objective: &CandidateObjective<'_>,
        _chosen: &[bool],
        scores: &mut [f64],
    ) -> Result<Stop> {
        let slopes = objective.gradient.iter().zip(&objective.units);
        for (score, (slope, unit)) in scores.iter_mut().zip(slopes) {
            // Training would not follow slopes below its own tolerance.
            *score = slope.abs() - self.l1 - self.tolerance * unit;
        }
        Ok(Stop::Converged)
    }

    fn is_worthwhile(&self, fall: f64, n_added: usize) -> bool {
        self.l0 == 0.0 || fall >= self.l0 * n_added as f64
    }
}
