//! Formats that read and write files of labelled sequences.
//!
//! Start with `format.rs` (the trait), then `conll.rs`. `dataset_sink.rs` takes what is read,
//! `checked_writer.rs` refuses what a format cannot hold.

pub(crate) mod checked_writer;
pub(crate) mod chunks;
pub(crate) mod conll;
pub(crate) mod crfsuite;
pub(crate) mod csv;
pub(crate) mod dataset_sink;
pub(crate) mod format;
pub(crate) mod jsonl;
