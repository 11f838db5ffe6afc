//! Checked lines and fields of text files, and where data files are found.

pub(crate) mod checks;
pub(crate) mod data_dir;
pub(crate) mod fields;
pub(crate) mod lines;
