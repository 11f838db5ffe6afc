use crf_core::{Result, Seed, require_memory};
use crf_learn::{CostFunction, Lbfgs, Optimizer, OptimizerState, OwlQn};

use crate::candidates::proximal_newton::ProximalNewton;

/// Default maximum of weights for [`ProximalNewton`], whose matrix takes 128 MB at this size;
/// larger models use OWL-QN or L-BFGS.
pub(crate) const MAX_DENSE: usize = 4000;

/// Optimizer that is warm-started from one set of features to the next.
///
/// All sets are restrictions of one smooth function, so the curvature learnt on a set stays valid
/// for the features that the next one shares with it.
pub(crate) struct WarmSteps {
    max_dense: usize,     // more weights than this are left to OWL-QN or L-BFGS
    features: Vec<usize>, // the features of `dense`, ascending
    dense: ProximalNewton,
    sparse: Option<Box<dyn OptimizerState>>,
}

impl WarmSteps {
    /// Creates an optimizer without curvature.
    pub(crate) fn new(max_dense: usize) -> Self {
        WarmSteps { max_dense, features: Vec::new(), dense: ProximalNewton::new(Vec::new()), sparse: None }
    }

    /// Returns the optimizer for `f`, the objective of these features, ascending, which have these
    /// units, with the curvature that is known of them.
    pub(crate) fn resume(
        &mut self,
        f: &dyn CostFunction,
        features: &[usize],
        units: Vec<f64>,
        seed: &Seed,
    ) -> Result<&mut dyn OptimizerState> {
        if features.len() > self.max_dense {
            let optimizer: &dyn Optimizer =
                if f.l1().of_all > 0.0 { &OwlQn::default() } else { &Lbfgs::default() };
            *self = WarmSteps::new(self.max_dense);
            return Ok(&mut **self.sparse.insert(optimizer.start(f, seed)?));
        }
        let bytes = 2.0 * size_of::<f64>() as f64 * (features.len() as f64).powi(2);
        let what = format!("the curvature of {} weights", features.len());
        require_memory(bytes, &what, "choose fewer features, or set `dense` lower")?;
        self.sparse = None;
        self.dense = self.dense.carry_over(&self.features, features, units);
        self.features = features.to_vec();
        Ok(&mut self.dense)
    }
}
