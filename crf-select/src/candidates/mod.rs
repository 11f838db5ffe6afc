//! All candidate features under one objective, and the machinery that trains subsets of them.
//!
//! Every selector that trains evaluates the candidates through `objective.rs`: one pass over the
//! data gives the derivative of each of them, and builds the objective of a few. Start there.
//! Nothing here knows a selector.
//!
//! - `proximal_newton.rs` minimises the objective of few features with a dense curvature matrix.
//!   Candidates resemble each other, as nested thresholds do, and OWL-QN takes many iterations for
//!   few weights of that kind. Memory is n² for n weights, so beyond `MAX_DENSE` of them
//!   `warm_steps.rs` uses OWL-QN or L-BFGS. The smooth part is the same function for every subset
//!   of the candidates, so the curvature is carried from subset to subset.
//! - `working_list.rs` restricts a selector to the candidates with the largest derivatives. These
//!   are often copies of the same few numbers, so the list is rebuilt whenever the model has grown.
//! - `function_columns.rs` transposes the encoded dataset, in memory linear in its non-zeros, for
//!   selectors that read it function by function: filters and the mean-field gain.
//! - `path_reporter.rs` reports candidates, and `top_scores.rs` picks those with the largest
//!   scores.

pub(crate) mod function_columns;
pub(crate) mod objective;
pub(crate) mod path_reporter;
pub(crate) mod proximal_newton;
pub(crate) mod top_scores;
pub(crate) mod warm_steps;
pub(crate) mod working_list;
