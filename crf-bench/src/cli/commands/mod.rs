//! The commands, one file per command: its arguments with their help, and `run`.
//!
//! Start with `train.rs` or `experiment.rs`. Commands parse, call a room of the crate and print;
//! options that several of them take are in `cli/options`, tables and summaries in `cli/output`.

pub(crate) mod convert;
pub(crate) mod data;
pub(crate) mod eval;
pub(crate) mod experiments;
pub(crate) mod explain;
pub(crate) mod infer;
pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod show;
pub(crate) mod tag;
pub(crate) mod train;
