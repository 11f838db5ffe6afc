//! Options that several commands share: a data format, constraints on labels, the variant of an
//! experiment file.

pub(crate) mod constraints;
pub(crate) mod format;
pub(crate) mod variant;
