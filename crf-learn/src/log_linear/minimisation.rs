use crate::scoring::merged_features::MergedFeatures;
use crf_core::plugin::{Named, named_option};
use crf_core::{Error, Fit, FitContext, Iteration, LogLinear, Problem, Result, Stop, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::objectives::objective::Objective;
use crate::optimizers::lbfgs::Lbfgs;
use crate::optimizers::optimizer::{Optimizer, StopRule, minimise};
use crate::optimizers::owl_qn::OwlQn;
use crate::optimizers::penalised::{Penalised, Penalty};
use crate::training::early_stopping::EarlyStopping;

/// What all learners have in common that minimise an objective: a penalty, an optimizer, and when to stop.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Minimisation {
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
    /// With validation data: stop after so many iterations in a row in which the objective did not fall there, and keep
    /// the weights under which it was lowest; 0 does not look at them.
    pub patience: u32,
    /// Whether to train in two stages: the weights of state features as if there were no edges, then those of transition
    /// features with the others as they are. The trace has both stages, each with the objective and penalty of its own.
    pub two_stage: bool,
}

impl Minimisation {
    fn penalty(&self) -> Penalty {
        Penalty { l1: self.l1, l2: self.l2, exempt_intercepts: self.exempt_intercepts }
    }

    pub(crate) fn check(&self) -> Result<()> {
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

    /// The features of a problem with those as one that the data do not tell apart, if there are such and it makes no
    /// difference: to ℓ1 penalties, coordinate by coordinate, and to validation data it does.
    pub(crate) fn merged(&self, problem: &Problem<'_>) -> Option<MergedFeatures> {
        let watched = self.patience > 0 && problem.valid.is_some();
        let rotates = self.optimizer.as_ref().is_none_or(|optimizer| optimizer.rotates());
        (self.l1 == 0.0 && !watched && rotates)
            .then(|| MergedFeatures::new(problem.map, problem.train))
            .flatten()
    }

    /// The log-linear model whose weights minimise the objective that `of` makes of a problem, or of its merged features.
    pub(crate) fn fit<'a, O: Objective + 'a>(
        &self,
        of: impl Fn(&Problem<'a>) -> Result<O>,
        problem: &Problem<'a>,
        merged: Option<&'a MergedFeatures>,
        run: &mut FitContext<'_>,
    ) -> Result<Fit> {
        let mut w = problem.start_weights()?;
        let trace = match merged {
            None => self.minimise(of, &mut w, Vec::new(), problem, run)?,
            Some(merged) => {
                w = merged.merge(problem.map, &w);
                let narrow = Problem { map: merged.map(), ..*problem };
                let trace = self.minimise(of, &mut w, Vec::new(), &narrow, run)?;
                w = merged.expand(problem.map, &w);
                trace
            }
        };
        Ok(Fit { model: Box::new(LogLinear::new(problem.map.clone(), w)?), trace })
    }

    /// Minimises the objective that `of` makes of a problem, from the weights `w` and the iterations `before` on.
    pub(crate) fn minimise<'a, O: Objective + 'a>(
        &self,
        of: impl Fn(&Problem<'a>) -> Result<O>,
        w: &mut Vec<f64>,
        before: Vec<Iteration>,
        problem: &Problem<'a>,
        run: &mut FitContext<'_>,
    ) -> Result<Trace> {
        let penalty = self.penalty();
        let mut f = Penalised::new(of(problem)?, &penalty, problem.map);
        let fallback: Box<dyn Optimizer> =
            if self.l1 > 0.0 { Box::new(OwlQn::default()) } else { Box::new(Lbfgs::default()) };
        let optimizer = self.optimizer.as_deref().unwrap_or(&*fallback);
        let (n_state, dim) = (problem.map.state().len(), problem.map.len());
        let mut trace = Trace { iterations: before, stop: Stop::Direct };
        if self.two_stage {
            let transition = w.split_off(n_state);
            w.resize(dim, 0.0);
            f.set_free(0..n_state);
            let watch = EarlyStopping::over_valid(self.patience, &of, problem)?;
            trace = minimise(&mut f, w, optimizer, &self.stop, watch, trace.iterations, run)?;
            w[n_state..].copy_from_slice(&transition);
            f.set_free(n_state..dim);
        }
        if trace.stop != Stop::Observer {
            let watch = EarlyStopping::over_valid(self.patience, &of, problem)?;
            trace = minimise(&mut f, w, optimizer, &self.stop, watch, trace.iterations, run)?;
        }
        if !f.objective().was_exact() {
            tracing::warn!(inference = ?problem.inference, "the likelihood is approximate: its inference is not exact");
        }
        let separated = |last: f64| f.objective().objective().is_separated(last);
        if penalty.is_none() && trace.iterations.last().is_some_and(|last| separated(last.objective)) {
            trace.stop = Stop::Diverging;
            tracing::warn!(
                "the training data are separable and there is no penalty: the weights have no optimum"
            );
        }
        Ok(trace)
    }
}
