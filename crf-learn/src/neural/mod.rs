//! Neural chain (plugin): a feed-forward net whose outputs are the node potentials of a chain, or
//! of another graph.
//!
//! There are two objectives over the same net (`objectives.rs`): single positions, or the
//! likelihood, whose derivatives with respect to node potentials are the marginals minus the truth
//! and are propagated back through the net. Loop, Adam, penalty, early stopping and the fixed order
//! of sums are those of every objective. A trained net that stays fixed becomes fixed scores of
//! likelihood or pseudo-likelihood, whose weights are then the transitions alone.
//!
//! Layers store their weights input by input, so that inputs of 0 (functions that do not fire,
//! inactive units) cost nothing; a bias is an input that is always 1. On text nearly all of the
//! first layer is 0, which dense layers of a library would not skip.
//!
//! The room uses `objectives`, `training`, `optimizers` and `log_linear`. Start with
//! `neural_chain.rs` (the learner), then `feed_forward.rs` (the net and its gradient).

pub(crate) mod feed_forward;
pub(crate) mod model;
pub(crate) mod neural_chain;
pub(crate) mod objectives;

pub use model::NeuralModel;
pub use neural_chain::{By, NeuralChain, Pairwise, TrainingMode};
