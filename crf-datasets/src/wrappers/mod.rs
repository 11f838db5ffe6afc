//! Sources around other sources (plugins).
//!
//! `domains` pools several sources, `held-out` splits the data of a source anew, and `linked` adds
//! edges to its sequences. They copy datasets with `rebuild.rs` at the root of the crate. Start
//! with `domains.rs`.

pub(crate) mod domains;
pub(crate) mod held_out;
pub(crate) mod linked;

pub use domains::Domains;
pub use held_out::{HeldOut, Origin, Role};
pub use linked::Linked;
pub use linked::extra_edges::{ExtraEdges, SameSymbol};
