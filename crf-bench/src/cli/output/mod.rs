//! Printed answers that several commands share.

pub(crate) mod report;
pub(crate) mod table;
pub(crate) mod trace_file;
pub(crate) mod training_summary;
