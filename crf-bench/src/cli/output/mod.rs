//! What several commands print or write beside their answer.

pub(crate) mod trace_file;
pub(crate) mod training_summary;
