//! Learners that decode with a loss added: perceptron, passive-aggressive, structured SVMs.
//!
//! Start with `training_loop.rs`; `decoder.rs` finds the labelling that violates the margin most.

pub(crate) mod arow;
pub(crate) mod averaged_weights;
pub(crate) mod decoder;
pub(crate) mod loss;
pub(crate) mod online;
pub(crate) mod passive_aggressive;
pub(crate) mod perceptron;
pub(crate) mod ssvm;
pub(crate) mod ssvm_frank_wolfe;
pub(crate) mod ssvm_n_slack;
pub(crate) mod ssvm_one_slack;
pub(crate) mod ssvm_subgradient;
pub(crate) mod training_loop;
