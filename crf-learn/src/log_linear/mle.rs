use crf_core::{Fit, Learner, Problem, Result, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log_linear::minimisation::Pairing;
use crate::objectives::likelihood::Likelihood;

/// Maximum conditional likelihood of a log-linear model, with an ℓ2, ℓ1 or elastic-net penalty (Vail 2008, §2.4).
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Mle(pub Pairing);

crf_core::plugin!("learner", Mle, "mle");

#[typetag::serde(name = "mle")]
impl Learner for Mle {
    fn check(&self) -> Result<()> {
        self.0.check()
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut Run<'_>) -> Result<Fit> {
        let merged = self.0.merged(problem);
        self.0.fit(Likelihood::new, problem, merged.as_ref(), run)
    }
}
