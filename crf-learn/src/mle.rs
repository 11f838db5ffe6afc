use crf_core::plugin::{Named, named_option};
use crf_core::{Error, Fit, Learner, LogLinear, Problem, Result, Run, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lbfgs::Lbfgs;
use crate::likelihood::Likelihood;
use crate::optimizer::{Optimizer, StopRule, minimise};
use crate::owl_qn::OwlQn;
use crate::penalty::{Penalised, Penalty};

/// Maximum conditional likelihood of a log-linear model, with an ℓ2, ℓ1 or elastic-net penalty (Vail 2008, §2.4).
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Mle {
    /// λ₁ of λ₁‖w‖₁; at least 0.
    pub l1: f64,
    /// λ₂ of (λ₂/2)‖w‖²; at least 0.
    pub l2: f64,
    /// Whether the weights of (y = label) go unpenalised.
    pub exempt_intercepts: bool,
    /// How to minimise; `owl-qn` if there is an ℓ1 penalty and `lbfgs` otherwise when left out.
    #[serde(deserialize_with = "named_option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Named>")]
    pub optimizer: Option<Box<dyn Optimizer>>,
    /// When to stop.
    pub stop: StopRule,
}

crf_core::plugin!("learner", Mle, "mle");

impl Mle {
    fn penalty(&self) -> Penalty {
        Penalty { l1: self.l1, l2: self.l2, exempt_intercepts: self.exempt_intercepts }
    }
}

#[typetag::serde(name = "mle")]
impl Learner for Mle {
    fn check(&self) -> Result<()> {
        self.penalty().check()?;
        self.stop.check()?;
        if let Some(optimizer) = &self.optimizer {
            optimizer.check()?;
            if self.l1 > 0.0 && !optimizer.takes_l1() {
                return Err(Error::setting(
                    "optimizer",
                    "`owl-qn`, or another that takes an ℓ1 penalty",
                    format!("{optimizer:?}"),
                ));
            }
        }
        Ok(())
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut Run<'_>) -> Result<Fit> {
        let penalty = self.penalty();
        let mut f = Penalised::new(Likelihood::new(problem)?, &penalty, problem.map);
        let mut w = start(problem)?;
        let fallback: Box<dyn Optimizer> =
            if self.l1 > 0.0 { Box::new(OwlQn::default()) } else { Box::new(Lbfgs::default()) };
        let optimizer = self.optimizer.as_deref().unwrap_or(&*fallback);
        let mut trace = minimise(&mut f, &mut w, optimizer, &self.stop, run)?;
        if !f.objective().was_exact() {
            tracing::warn!(inference = ?problem.inference, "the likelihood is approximate: its inference is not exact");
        }
        // Without a penalty, a likelihood of one is only reached by weights that grow for ever.
        let per_position = trace.iterations.last().map_or(1.0, |last| last.objective)
            / problem.train.data().n_positions() as f64;
        if penalty.is_none() && per_position < 1e-4 {
            trace.stop = Stop::Diverging;
            tracing::warn!(
                "the training data are separable and there is no penalty: the weights have no optimum"
            );
        }
        let model = LogLinear::new(problem.map.clone(), w)?;
        Ok(Fit { model: Box::new(model), trace })
    }
}

/// The weights to begin with: those of the given model, or zeros.
fn start(problem: &Problem<'_>) -> Result<Vec<f64>> {
    match problem.start.map(|model| model.log_linear()) {
        None => Ok(vec![0.0; problem.map.len()]),
        Some(Some(model)) if model.map() == problem.map => Ok(model.weights().to_vec()),
        Some(_) => Err(Error::data("the model to start from has other features than the one to train")),
    }
}
