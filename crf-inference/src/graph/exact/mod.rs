//! Inference that is exact on any graph.
//!
//! Start with `junction_tree.rs`; `elimination.rs` finds its order and cliques.

pub(crate) mod elimination;
pub(crate) mod enumeration;
pub(crate) mod junction_tree;
