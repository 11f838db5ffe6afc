//! Sources around sources: several domains, held-out parts, extra edges.

pub(crate) mod domains;
pub(crate) mod held_out;
pub(crate) mod linked;
pub(crate) mod rebuild;
