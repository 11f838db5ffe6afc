use crf_core::plugin::{Named, named_option};
use crf_core::{Error, Fit, Learner, LogLinear, Merged, Problem, Result, Run, Stop, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lbfgs::Lbfgs;
use crate::likelihood::Likelihood;
use crate::optimizer::{Optimizer, StopRule, minimise};
use crate::owl_qn::OwlQn;
use crate::penalty::{Penalised, Penalty};
use crate::sharded::Sharded;
use crate::watch::Watch;

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
    /// With validation data: stop after so many iterations in a row in which their likelihood did not rise, and keep the
    /// weights under which it was highest; 0 does not look at them.
    pub patience: u32,
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
        let watched = self.patience > 0 && problem.valid.is_some();
        if self.l1 == 0.0
            && !watched
            && let Some(merged) = Merged::new(problem.map, problem.train)
        {
            let start = merged.merge(problem.map, &problem.start_weights()?);
            let (w, trace) =
                self.minimise(&Problem { map: merged.map(), start: None, ..*problem }, start, run)?;
            let model = LogLinear::new(problem.map.clone(), merged.expand(problem.map, &w))?;
            return Ok(Fit { model: Box::new(model), trace });
        }
        let (w, trace) = self.minimise(problem, problem.start_weights()?, run)?;
        Ok(Fit { model: Box::new(LogLinear::new(problem.map.clone(), w)?), trace })
    }
}

impl Mle {
    fn minimise(
        &self,
        problem: &Problem<'_>,
        mut w: Vec<f64>,
        run: &mut Run<'_>,
    ) -> Result<(Vec<f64>, Trace)> {
        let penalty = self.penalty();
        let mut f = Penalised::new(Likelihood::new(problem)?, &penalty, problem.map);
        let fallback: Box<dyn Optimizer> =
            if self.l1 > 0.0 { Box::new(OwlQn::default()) } else { Box::new(Lbfgs::default()) };
        let optimizer = self.optimizer.as_deref().unwrap_or(&*fallback);
        let watch = match problem.valid.filter(|_| self.patience > 0) {
            None => None,
            Some(valid) => {
                let mut likelihood = Sharded::new(Likelihood::new(&Problem { train: valid, ..*problem })?);
                let mut gradient = vec![0.0; w.len()];
                Some(Watch::new(self.patience, move |w| likelihood.evaluate(w, &mut gradient)))
            }
        };
        let mut trace = minimise(&mut f, &mut w, optimizer, &self.stop, watch, run)?;
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
        Ok((w, trace))
    }
}
