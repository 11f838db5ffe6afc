use crf_core::{Fit, FitContext, Learner, Problem, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log_linear::minimisation::Minimisation;
use crate::objectives::pseudo_likelihood::PseudoLikelihoodObjective;

/// Maximum pseudo-likelihood estimation (Besag 1975): each label given the true labels of its
/// neighbours.
///
/// No inference is needed, so an iteration takes the same time on any graph. For data drawn from
/// the model it finds the weights as surely as maximum likelihood does, but needs more data. Every
/// position must have a label.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct PseudoLikelihood(pub Minimisation);

crf_core::plugin!("learner", PseudoLikelihood, "pseudo-likelihood", example = "l2 = 0.1");

#[typetag::serde(name = "pseudo-likelihood")]
impl Learner for PseudoLikelihood {
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
        self.0.fit(PseudoLikelihoodObjective::new, problem, merged.as_ref(), run)
    }
}
