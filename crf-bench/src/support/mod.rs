//! Helpers that know nothing about random fields: files that appear whole, threads, progress bars,
//! the machine, words.
//!
//! Uses no other room but `error.rs`. `atomic_file.rs` guards every output file of the crate,
//! `folders.rs` finds files, `worker_pools.rs` runs the jobs of experiments and cross-validation.

pub(crate) mod atomic_file;
pub(crate) mod folders;
pub(crate) mod hardware;
#[cfg(feature = "terminal")]
pub mod progress;
#[cfg(not(feature = "terminal"))]
pub(crate) mod silence;
pub(crate) mod text;
pub(crate) mod worker_pools;

#[cfg(not(feature = "terminal"))]
pub(crate) use self::silence as progress;
