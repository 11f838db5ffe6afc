//! Value and gradient of a sum over sequences.
//!
//! Start with `objective.rs` (the trait), then `likelihood.rs`; `sharded.rs` sums any objective on all
//! cores with the same bits at any thread count. No optimizer is named here.

pub(crate) mod fixed_scores;
pub(crate) mod labels;
pub(crate) mod likelihood;
pub(crate) mod m_estimator;
pub(crate) mod objective;
pub(crate) mod patches;
pub(crate) mod pseudo_likelihood;
pub(crate) mod sharded;
