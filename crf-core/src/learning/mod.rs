//! The traits `Learner` and `Selector`, with their problem, trace and candidates.

pub(crate) mod learner;
pub(crate) mod selector;
