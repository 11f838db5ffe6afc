use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{
    Error, FeatureMap, Fit, FitContext, Iteration, Learner, Problem, Result, Stop, Trace, require,
};
use linfa::prelude::Fit as _;
use linfa_logistic::MultiLogisticRegression;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::local::positions::{Linear, Nodes, fit_local};
use crate::objectives::pseudo_likelihood::PseudoLikelihoodObjective;
use crate::optimizers::optimizer::{CostFunction as _, Point};
use crate::optimizers::penalised::{Penalised, Penalty};

/// Multinomial logistic regression of single positions, through linfa.
///
/// It minimises the objective of `pseudo-likelihood` without transition features, on a dense matrix
/// of all positions; transitions have the weight 0. The trace has one entry: objective and gradient
/// at the weights that linfa found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Logistic {
    /// λ₂, factor of the penalty (λ₂/2)‖w‖²; at least 0.
    pub l2: f64,
    /// True if the weights of intercepts (y = label) are not penalised.
    pub exempt_intercepts: bool,
    /// Maximum number of iterations; at least 1.
    pub iterations: u32,
    /// Tolerance: converged when the norm of the gradient is at most this; above 0.
    pub tolerance: f64,
}

impl Default for Logistic {
    fn default() -> Self {
        Logistic { l2: 1.0, exempt_intercepts: false, iterations: 1000, tolerance: 1e-3 }
    }
}

crf_core::plugin!("learner", Logistic, "logistic", example = "l2 = 0.1");

#[typetag::serde(name = "logistic")]
impl Learner for Logistic {
    fn check(&self) -> Result<()> {
        self.penalty().check()?;
        require(self.iterations > 0, "iterations", "at least 1", self.iterations)?;
        let fine = self.tolerance.is_finite() && self.tolerance > 0.0;
        require(fine, "tolerance", "a finite number above 0", self.tolerance)
    }

    fn heeds_sizes(&self) -> bool {
        true
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        let cells = |n_rows: usize, n_columns: usize| n_rows.saturating_mul(n_columns);
        let start = problem.start_weights()?;
        let model = fit_local("logistic", problem, !self.exempt_intercepts, cells, |nodes| {
            self.regress(nodes, problem.map, &start)
        })?;
        let n_state = problem.map.state().len();
        let (map, _) = problem.map.narrow(|k| k < n_state);
        let local = Problem { map: &Arc::new(map), forbidden: None, ..*problem };
        let mut f = Penalised::new(PseudoLikelihoodObjective::new(&local)?, &self.penalty(), local.map);
        let mut point = Point::new(model.weights()[..n_state].to_vec());
        f.evaluate(&mut point)?;
        let record = Iteration {
            iteration: 1,
            objective: point.value,
            gradient_norm: point.gradient_norm,
            non_zeros: point.non_zeros,
            evaluations: 1,
            holdout: None,
            dual: None,
            seconds: run.seconds(),
        };
        let stop = match run.observe(&record) {
            ControlFlow::Break(()) => Stop::Observer,
            // linfa sums in another order, so a gradient within its tolerance may be a little
            // larger here.
            ControlFlow::Continue(()) if point.gradient_norm <= 2.0 * self.tolerance => Stop::Converged,
            ControlFlow::Continue(()) => Stop::Budget,
        };
        Ok(Fit { model: Box::new(model), trace: Trace { iterations: vec![record], stop } })
    }
}

/// Maximum of the values of columns. Products of slopes are of their fourth power, and a search
/// over infinite ones does not end.
const MAX_VALUE: f64 = 1e70;

impl Logistic {
    fn penalty(&self) -> Penalty {
        Penalty { l1: 0.0, l2: self.l2, exempt_intercepts: self.exempt_intercepts }
    }

    /// Fits the weights with linfa, starting from `start`.
    fn regress(&self, nodes: &Nodes, map: &FeatureMap, start: &[f64]) -> Result<Linear> {
        if let Some(y) = nodes.counts.iter().position(|&count| count == 0) {
            let name = map.schema().kinds()[nodes.kind as usize].labels.name(y as u32);
            let what =
                format!("needs every label in the training data, but not one is `{name}`; `mle` does not");
            return Err(Error::Unsupported { tag: "logistic", what });
        }
        if nodes.largest > MAX_VALUE {
            let message = format!(
                "a column has a value of {:e}, of which linfa's line search takes the fourth \
                 power; scale the features",
                nodes.largest
            );
            return Err(Error::NotFinite(message));
        }
        let intercept = self.exempt_intercepts && nodes.has_constant();
        let fitted = MultiLogisticRegression::default()
            .alpha(self.l2)
            .with_intercept(intercept)
            .initial_params(nodes.gather(map, start, intercept))
            .max_iterations(self.iterations.into())
            .gradient_tolerance(self.tolerance)
            .fit(&nodes.dataset)
            .map_err(|error| Error::Plugin(Box::new(error)))?;
        Ok(Linear {
            weights: fitted.params().to_owned(),
            bias: intercept.then(|| fitted.intercept().to_owned()),
        })
    }
}
