//! Inference by messages: sum-product and tree-reweighted, for marginals and for the best labelling.
//!
//! Start with `belief_propagation.rs` (a plugin) and `passing.rs`, which every one of them shares:
//! `schedule.rs` orders the updates, `update.rs` computes one message, `semiring.rs` is sum or max.

pub(crate) mod belief_propagation;
pub(crate) mod edge_appearance;
pub(crate) mod factors;
pub(crate) mod passing;
pub(crate) mod residual_queue;
pub(crate) mod schedule;
pub(crate) mod semiring;
pub(crate) mod traversal;
pub(crate) mod tree_reweighted;
pub(crate) mod update;
