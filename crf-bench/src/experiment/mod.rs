//! Running an experiment: a plan becomes cells, one per method, point and trial, kept in the
//! directory of its run.
//!
//! Start with `runner.rs`, which deals jobs to threads, then `cell.rs`, which runs one method on
//! one trial's data. A job is one point and trial with all methods, since they share the data.
//! `selection_cache.rs` shares selections among methods that differ only in the learner.
//!
//! A cell is a function of the config and its own name: seeds come from names, and threads, order
//! and shards change no bit. So finished cells can be reused: `cell_digest.rs` hashes all that a
//! cell depends on, `journal.rs` stores cells by digest as they finish, and `run_directory.rs`
//! resumes a run, also after a change of its file. `shard.rs` splits a run over machines; `cost.rs`
//! estimates one without running it.
//!
//! Uses `config` and `results`; `report` and the command line build on it.

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
