//! A feed-forward net under a chain.
//!
//! Start with `neural_chain.rs` (the learner), then `feed_forward.rs` (the net and its gradient).

pub(crate) mod feed_forward;
pub(crate) mod model;
pub(crate) mod neural_chain;
pub(crate) mod objectives;
