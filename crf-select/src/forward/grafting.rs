use crf_core::{FitContext, Problem, Result, Selector, Stop, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidates::objective::{CandidateObjective, likelihood};
use crate::candidates::path_reporter::{Emit, PathReporter};
use crate::forward::selection_loop::{CandidateScorer, ForwardSettings};

/// Grafting (Perkins, Lacker & Theiler 2003): adds the features with the largest |∂ℓ/∂w| (Vail 2008, equation 3.9).
///
/// With an ℓ1 penalty a feature is added only while its derivative exceeds λ₁, and the path ends at the minimum under that
/// penalty. An ℓ0 penalty ends it at the first round whose features lower the objective by less than `l0` each. The
/// thesis uses neither, and smooths the chosen model afterwards.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Grafting {
    /// λ₀: what a feature costs, however small its weight; at least 0.
    pub l0: f64,
    /// What forward selection has in common.
    #[serde(flatten)]
    pub rounds: ForwardSettings,
}

crf_core::plugin!("selector", Grafting, "grafting", example = "per_round = 8");

#[typetag::serde(name = "grafting")]
impl Selector for Grafting {
    fn check(&self) -> Result<()> {
        require(self.l0.is_finite() && self.l0 >= 0.0, "l0", "a finite number of at least 0", self.l0)?;
        self.rounds.check()
    }

    fn path(&self, problem: &Problem<'_>, run: &mut FitContext<'_>, emit: &mut Emit<'_>) -> Result<Stop> {
        let mut field = CandidateObjective::new(problem, &likelihood)?;
        let mut slopes = Slopes { l0: self.l0, l1: self.rounds.l1, tolerance: self.rounds.stop.tolerance };
        self.rounds.forward(&mut field, &mut slopes, &mut PathReporter::new(emit), run)
    }
}

struct Slopes {
    l0: f64,
    l1: f64,
    tolerance: f64,
}

impl CandidateScorer for Slopes {
    fn score(
        &mut self,
        field: &CandidateObjective<'_>,
        _chosen: &[bool],
        scores: &mut [f64],
    ) -> Result<Stop> {
        // Slopes that training would not follow any further promise nothing.
        let least = self.l1 + self.tolerance;
        scores.iter_mut().zip(&field.gradient).for_each(|(score, slope)| *score = slope.abs() - least);
        Ok(Stop::Converged)
    }

    fn is_worth(&self, fall: f64, added: usize) -> bool {
        self.l0 == 0.0 || fall >= self.l0 * added as f64
    }
}
