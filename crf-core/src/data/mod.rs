//! Labelled sequences and graphs as a user has them; the trait `Source`.
//!
//! Start with `dataset.rs`, then `schema.rs` and `graph.rs`.

pub(crate) mod alphabet;
pub(crate) mod dataset;
pub(crate) mod dataset_builder;
pub(crate) mod graph;
pub(crate) mod packed_strings;
pub(crate) mod schema;
pub(crate) mod source;
pub(crate) mod sparse_rows;
