//! A plan becomes cells, kept in the directory of its run.
//!
//! Start with `runner.rs`, then `cell.rs`; `run_directory.rs` and `journal.rs` resume a run.

pub(crate) mod cell;
pub(crate) mod cell_digest;
#[cfg(feature = "terminal")]
pub(crate) mod cost;
pub(crate) mod encoding;
#[cfg(feature = "report")]
pub(crate) mod journal;
#[cfg(feature = "report")]
pub(crate) mod run_directory;
pub(crate) mod runner;
pub(crate) mod selection_cache;
pub(crate) mod shard;
