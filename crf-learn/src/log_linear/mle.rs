use crf_core::{Fit, FitContext, Learner, Problem, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log_linear::minimisation::Minimisation;
use crate::objectives::likelihood::LikelihoodObjective;

/// Maximum conditional likelihood estimation of a log-linear model, with an ℓ2, ℓ1 or elastic-net
/// penalty (Vail 2008, §2.4).
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Mle(pub Minimisation);

crf_core::plugin!("learner", Mle, "mle", example = "l2 = 0.1");

#[typetag::serde(name = "mle")]
impl Learner for Mle {
    fn check(&self) -> Result<()> {
        self.0.check()
    }

    fn watches_validation(&self) -> bool {
        self.0.patience > 0
    }

    fn heeds_sizes(&self) -> bool {
        true
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        let merged = self.0.merged(problem);
        self.0.fit(LikelihoodObjective::new, problem, merged.as_ref(), run)
    }
}
