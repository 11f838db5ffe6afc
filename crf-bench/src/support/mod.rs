//! Files, threads, progress and the machine; no random field in it.

pub(crate) mod atomic_file;
pub(crate) mod hardware;
pub(crate) mod progress;
pub(crate) mod worker_pools;
