//! Data as a user has them: labelled sequences and graphs, and the trait `Source` that loads or
//! generates them.
//!
//! A dataset stores its channels column by column (`dataset.rs`) and is filled position by
//! position, with every value checked (`dataset_builder.rs`). Its schema (`schema.rs`) names the
//! channels, the kinds of node with their labels, and the relations of edges; a chain is the
//! special case of one kind and one relation, and needs no arrays for its graph (`graph.rs`).
//!
//! Names become indices once, in an `Alphabet` (`alphabet.rs` over `packed_strings.rs`).
//! `sparse_rows.rs` is the sparse matrix of bags of attributes and of encoded data.
//!
//! This room may use `numeric` only. Start with `dataset.rs`, then `schema.rs` and `graph.rs`.

pub(crate) mod alphabet;
pub(crate) mod dataset;
pub(crate) mod dataset_builder;
pub(crate) mod graph;
pub(crate) mod packed_strings;
pub(crate) mod schema;
pub(crate) mod source;
pub(crate) mod sparse_rows;
