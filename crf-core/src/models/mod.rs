//! From encoded data to potentials; the trait `Model`.
//!
//! Start with `model.rs`, then `log_linear.rs`. `constraints.rs` makes labels impossible under any model.

pub(crate) mod chunk_scheme;
pub(crate) mod constant_scores;
pub(crate) mod constraints;
pub(crate) mod edge_scores;
pub(crate) mod log_linear;
pub(crate) mod model;
