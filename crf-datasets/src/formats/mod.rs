//! File formats (plugins): `conll`, `crfsuite`, `csv` and `jsonl`.
//!
//! Start with `format.rs`, the trait, then `conll.rs`. A format reads checked lines (room `text`),
//! passes labels and values to `dataset_sink.rs`, which builds the datasets, and asks
//! `checked_writer.rs` to refuse data that it cannot hold; `label_name.rs` says what a label is.
//! `chunks.rs` reads a long text on all
//! cores. Everything that a user can get wrong is an error that names file, line and column.
//!
//! A new format is one file with a struct of its settings, and its `mod` line here.

pub(crate) mod checked_writer;
pub(crate) mod chunks;
pub(crate) mod conll;
pub(crate) mod crfsuite;
pub(crate) mod csv;
pub(crate) mod dataset_sink;
pub(crate) mod format;
pub(crate) mod jsonl;
pub(crate) mod label_name;

pub use chunks::ChunkBoundary;
pub use conll::{Conll, Separator};
pub use crfsuite::Crfsuite;
pub use csv::Csv;
pub use format::Format;
pub use jsonl::Jsonl;
