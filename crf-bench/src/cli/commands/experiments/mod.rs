//! Commands on experiment files and their runs.
//!
//! Start with `experiment.rs`; `merge.rs` and `reproduce.rs` use its steps.

pub(crate) mod check;
pub(crate) mod experiment;
pub(crate) mod merge;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod schema;
