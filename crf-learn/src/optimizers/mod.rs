//! Optimizers (plugins), and the loop around their steps.
//!
//! Start with `optimizer.rs`: an optimizer is one step, the loop with its limits, tolerance and observer
//! is written once. `penalised.rs` adds ℓ1 and ℓ2 penalties to an objective.

pub(crate) mod adam;
pub(crate) mod lbfgs;
pub(crate) mod mini_batches;
pub(crate) mod optimizer;
pub(crate) mod owl_qn;
pub(crate) mod penalised;
pub(crate) mod projected_cg;
pub(crate) mod quasi_newton;
pub(crate) mod sgd;
pub(crate) mod vector_passes;
