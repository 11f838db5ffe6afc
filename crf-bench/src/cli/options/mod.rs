//! Options that several commands share.

pub(crate) mod constraints;
pub(crate) mod format;
pub(crate) mod variant;
