use crf_core::plugin::{Named, named_option};
use crf_core::{Error, Fit, FitContext, Iteration, LogLinear, Problem, Result, Stop, Trace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::objectives::objective::Objective;
use crate::optimizers::lbfgs::Lbfgs;
use crate::optimizers::optimizer::{Optimizer, StopRule, minimise};
use crate::optimizers::owl_qn::OwlQn;
use crate::optimizers::penalised::{Penalised, Penalty};
use crate::scoring::merged_features::MergedFeatures;
use crate::training::early_stopping::EarlyStopping;

/// Settings of all learners that minimise an objective: penalty, optimizer, and stopping rules.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Minimisation {
    /// λ₁, factor of the penalty λ₁‖w‖₁; at least 0.
    pub l1: f64,
    /// λ₂, factor of the penalty (λ₂/2)‖w‖²; at least 0.
    pub l2: f64,
    /// True if the weights of intercepts (y = label) are not penalised.
    pub exempt_intercepts: bool,
    /// Optimizer. If omitted, `owl-qn` with an ℓ1 penalty and `lbfgs` otherwise.
    #[serde(deserialize_with = "named_option", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Named>")]
    pub optimizer: Option<Box<dyn Optimizer>>,
    /// Stopping rule of the optimizer.
    pub stop: StopRule,
    /// Early stopping: iterations without improvement on the validation data (in the objective)
    /// before stopping; the best weights are kept. 0 disables it.
    pub patience: u32,
    /// Two-stage training: the weights of state features first, as if there were no edges, then
    /// those of transition features with the others fixed. The trace has both stages, each with its
    /// own objective and penalty.
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

    /// Merges features that are identical on the training data. `None` if there are none, or if
    /// merging would change the result (ℓ1 penalty, coordinate-wise optimizer, early stopping).
    pub(crate) fn merged(&self, problem: &Problem<'_>) -> Option<MergedFeatures> {
        let stops_early = self.patience > 0 && problem.valid.is_some();
        let rotates = self.optimizer.as_ref().is_none_or(|optimizer| optimizer.rotates());
        (self.l1 == 0.0 && !stops_early && rotates)
            .then(|| MergedFeatures::new(problem.map, problem.train))
            .flatten()
    }

    /// Fits the log-linear model whose weights minimise the objective that `objective` makes of a
    /// problem, or of its merged features.
    pub(crate) fn fit<'a, O: Objective + 'a>(
        &self,
        objective: impl Fn(&Problem<'a>) -> Result<O>,
        problem: &Problem<'a>,
        merged: Option<&'a MergedFeatures>,
        run: &mut FitContext<'_>,
    ) -> Result<Fit> {
        let mut w = problem.start_weights()?;
        let trace = match merged {
            None => self.minimise(objective, &mut w, Vec::new(), problem, run)?,
            Some(merged) => {
                w = merged.merge(problem.map, &w);
                let narrow = Problem { map: merged.map(), ..*problem };
                let trace = self.minimise(objective, &mut w, Vec::new(), &narrow, run)?;
                w = merged.expand(problem.map, &w);
                trace
            }
        };
        Ok(Fit { model: Box::new(LogLinear::new(problem.map.clone(), w)?), trace })
    }

    /// Minimises the objective that `objective` makes of a problem, starting from the weights `w`;
    /// the trace continues the iterations `before`.
    pub(crate) fn minimise<'a, O: Objective + 'a>(
        &self,
        objective: impl Fn(&Problem<'a>) -> Result<O>,
        w: &mut Vec<f64>,
        before: Vec<Iteration>,
        problem: &Problem<'a>,
        run: &mut FitContext<'_>,
    ) -> Result<Trace> {
        let penalty = self.penalty();
        let mut f = Penalised::new(objective(problem)?, &penalty, problem.map);
        let fallback: Box<dyn Optimizer> =
            if self.l1 > 0.0 { Box::new(OwlQn::default()) } else { Box::new(Lbfgs::default()) };
        let optimizer = self.optimizer.as_deref().unwrap_or(&*fallback);
        let (n_state, dim) = (problem.map.state().len(), problem.map.len());
        let mut trace = Trace { iterations: before, stop: Stop::Direct };
        if self.two_stage {
            let transition = w.split_off(n_state);
            w.resize(dim, 0.0);
            f.set_free(0..n_state);
            let early_stopping = EarlyStopping::over_valid(self.patience, &objective, problem)?;
            trace = minimise(&mut f, w, optimizer, &self.stop, early_stopping, trace.iterations, run)?;
            w[n_state..].copy_from_slice(&transition);
            f.set_free(n_state..dim);
        }
        if trace.stop != Stop::Observer {
            let early_stopping = EarlyStopping::over_valid(self.patience, &objective, problem)?;
            trace = minimise(&mut f, w, optimizer, &self.stop, early_stopping, trace.iterations, run)?;
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
