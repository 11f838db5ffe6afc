//! Selectors around selectors: by cross-validation, on a short list, in one domain, with patience.

pub(crate) mod cross_validated;
pub(crate) mod in_part;
pub(crate) mod patient;
pub(crate) mod shortlist;
