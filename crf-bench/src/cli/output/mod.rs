//! Printed answers that several commands share: tables, the summary of a training, the report of a
//! run.

pub(crate) mod report;
pub(crate) mod table;
pub(crate) mod trace_file;
pub(crate) mod training_summary;
