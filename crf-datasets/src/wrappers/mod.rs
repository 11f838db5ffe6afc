//! Sources around other sources (plugins).
//!
//! `domains` pools several sources, `held-out` splits the data of a source anew, and `linked` adds edges to its sequences.
//! They copy datasets with `rebuild.rs` at the root of the crate. Start with `domains.rs`.

pub(crate) mod domains;
pub(crate) mod held_out;
pub(crate) mod linked;
