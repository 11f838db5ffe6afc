//! Models: from encoded data to potentials; the trait `Model`.
//!
//! A model is bound to an encoded dataset once, which does the work that all sequences share, and
//! then fills the potentials of one sequence at a time. `LogLinear` reads the state weights in
//! place and lays nothing out, so labelling with a large model costs little beside loading it.
//! Training has its own kernels in `crf-learn`, whose layout pays for itself over many weight
//! vectors; they share `constant_scores.rs` and `edge_scores.rs` with it.
//!
//! There are two cases of edge tables, and no inference knows the difference. If few rows of edges
//! are distinct, each has one table, computed once per weight vector for the whole dataset:
//! constant transitions are one table, transitions on a coin are two. If nearly every edge differs,
//! each sequence computes its own tables.
//!
//! Constraints are an edit of the potentials of any model: `constraints.rs` sets forbidden labels
//! and pairs to −∞, `chunk_scheme.rs` has the rules of BIO and BIOES.
//!
//! This room may use `features` and `inference`, and what these use. Start with `model.rs`, then
//! `log_linear.rs`.

pub(crate) mod chunk_scheme;
pub(crate) mod constant_scores;
pub(crate) mod constraints;
pub(crate) mod edge_scores;
pub(crate) mod log_linear;
pub(crate) mod model;
