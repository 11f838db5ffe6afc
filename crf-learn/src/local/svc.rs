use crf_core::{Error, Fit, FitContext, Learner, Problem, Result, Stop, Trace, require};
use linfa::dataset::AsSingleTargets as _;
use linfa::prelude::Fit as _;
use linfa::{DatasetBase, ParamGuard as _};
use linfa_svm::Svm;
use ndarray::{Array1, Array2};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::local::positions::{Linear, Nodes, fit_local};

/// Linear support vector machines of single positions, one label against all others, through linfa.
///
/// For each label ½‖w‖² + C Σ max(0, 1 − ±(w·x + b)) is minimised by SMO on the matrix of all inner
/// products, so data must be few. The scores of the labels are compared as they are; transitions
/// have the weight 0. The features must include an intercept for b, which is not penalised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Svc {
    /// C, cost of a position on the wrong side by 1; above 0.
    pub c: f64,
    /// Tolerance: converged when no pair of multipliers violates its condition by more than this;
    /// above 0.
    pub tolerance: f64,
}

impl Default for Svc {
    fn default() -> Self {
        Svc { c: 1.0, tolerance: 1e-3 }
    }
}

crf_core::plugin!("learner", Svc, "svc", example = "c = 0.1");

#[typetag::serde(name = "svc")]
impl Learner for Svc {
    fn check(&self) -> Result<()> {
        for (key, value) in [("c", self.c), ("tolerance", self.tolerance)] {
            require(value.is_finite() && value > 0.0, key, "a finite number above 0", value)?;
        }
        Ok(())
    }

    fn heeds_sizes(&self) -> bool {
        true
    }

    fn fit(&self, problem: &Problem<'_>, _run: &mut FitContext<'_>) -> Result<Fit> {
        let products = |n_rows: usize, n_columns: usize| n_rows.saturating_mul(n_rows.max(n_columns));
        let model = fit_local("svc", problem, false, products, |nodes| self.separate(nodes))?;
        Ok(Fit { model: Box::new(model), trace: Trace { iterations: Vec::new(), stop: Stop::Direct } })
    }
}

/// Maximum of C times the square of the longest row. The number of steps of SMO grows with it, and
/// linfa ends only after ten million of them for each label.
const MAX_CURVATURE: f64 = 1e9;

/// Square of the length of the longest row.
fn x_square(nodes: &Nodes) -> f64 {
    let rows = nodes.dataset.records().rows();
    rows.into_iter().map(|row| row.dot(&row)).fold(0.0, f64::max)
}

impl Svc {
    /// Fits the planes with linfa.
    fn separate(&self, nodes: &Nodes) -> Result<Linear> {
        if !nodes.has_constant() {
            let what = "needs `intercept` among the features, for the places of its planes";
            return Err(Error::Unsupported { tag: "svc", what: what.into() });
        }
        let curvature = self.c * x_square(nodes);
        if curvature > MAX_CURVATURE {
            let what = format!(
                "takes steps as small as 1 / ({curvature:.1e}), the square of the longest row times `c`, \
                 and would not end on these data; scale the features"
            );
            return Err(Error::Unsupported { tag: "svc", what });
        }
        let (x, labels) = (nodes.dataset.records(), nodes.dataset.as_single_targets());
        let mut weights = Array2::zeros((x.ncols(), nodes.n_labels));
        let mut bias = Array1::zeros(nodes.n_labels);
        for y in 0..nodes.n_labels {
            // Where all positions are on one side, a constant has no loss.
            bias[y] = match nodes.counts[y] {
                0 => -1.0,
                count if count == labels.len() => 1.0,
                _ => {
                    let yes = labels.mapv(|label| label == y);
                    let svm = Svm::<f64, bool>::params().pos_neg_weights(self.c, self.c).eps(self.tolerance);
                    let svm = svm.check().and_then(|svm| svm.fit(&DatasetBase::new(x.view(), yes.view())));
                    let svm = svm.map_err(|error| Error::Plugin(Box::new(error)))?;
                    // linfa does not expose the plane; its signed multipliers give it.
                    weights.column_mut(y).assign(&x.t().dot(&Array1::from(svm.alpha)));
                    -svm.rho
                }
            };
        }
        Ok(Linear { weights, bias: Some(bias) })
    }
}
