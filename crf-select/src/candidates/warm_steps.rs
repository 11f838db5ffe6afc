use crf_core::{Result, Seed};
use crf_learn::{CostFunction, Lbfgs, Optimizer, OptimizerState, OwlQn};

use crate::candidates::proximal_newton::Proximal;

/// Beyond so many weights the matrix of [`Proximal`], 128 MB by then, usually gives way to the few vectors of OWL-QN and L-BFGS.
pub(crate) const MOST_DENSE: usize = 4000;

/// Steps on an objective that is restricted to one set of features after the other. It stays the same function, so what they
/// have learnt of its curvature goes on from set to set.
pub(crate) struct WarmSteps {
    most_dense: usize, // beyond so many weights there is no matrix
    known: Vec<usize>, // the features whose curvature is known
    dense: Proximal,
    sparse: Option<Box<dyn OptimizerState>>,
}

impl WarmSteps {
    /// Steps that know nothing yet.
    pub(crate) fn new(most_dense: usize) -> Self {
        WarmSteps { most_dense, known: Vec::new(), dense: Proximal::new(0), sparse: None }
    }

    /// Steps on `f`, the objective of some features, ascending.
    pub(crate) fn on(
        &mut self,
        f: &dyn CostFunction,
        features: &[usize],
        seed: &Seed,
    ) -> Result<&mut dyn OptimizerState> {
        if features.len() > self.most_dense {
            let optimizer: &dyn Optimizer =
                if f.l1().of_all > 0.0 { &OwlQn::default() } else { &Lbfgs::default() };
            *self = WarmSteps::new(self.most_dense);
            return Ok(&mut **self.sparse.insert(optimizer.start(f, seed)?));
        }
        self.sparse = None;
        self.dense = self.dense.carried(&self.known, features);
        self.known = features.to_vec();
        Ok(&mut self.dense)
    }
}
