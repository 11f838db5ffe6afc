//! Files, threads, progress and the machine; no random field in it.

pub(crate) mod atomic_file;
pub(crate) mod hardware;
#[cfg(feature = "terminal")]
pub mod progress;
#[cfg(not(feature = "terminal"))]
pub(crate) mod silence;
pub(crate) mod worker_pools;

#[cfg(not(feature = "terminal"))]
pub(crate) use self::silence as progress;
