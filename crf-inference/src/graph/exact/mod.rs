//! Exact inference on any graph: the junction tree, and enumeration for tiny graphs.
//!
//! The junction tree eliminates nodes by min-fill and keeps the table of each clique. On the way
//! back, p(clique) = p(node | separator) p(separator) gives marginals without a division; draws and
//! the best labelling take the same walk. The size of all tables is known before anything is
//! computed, so that graphs that are too dense are rejected at once.
//!
//! Start with `junction_tree.rs`, the plugin; `elimination.rs` finds the order of elimination and
//! the cliques, `clique_tree.rs` has their tables and the passes over them.

pub(crate) mod clique_tree;
pub(crate) mod elimination;
pub(crate) mod enumeration;
pub(crate) mod junction_tree;

pub use enumeration::Enumeration;
pub use junction_tree::JunctionTree;
