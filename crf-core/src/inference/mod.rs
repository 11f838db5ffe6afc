//! Potentials of one instance, and the answers about it; the trait `Inference`.
//!
//! Start with `algorithm.rs` and `potentials.rs`. `oracle.rs` enumerates, for tests.

pub(crate) mod algorithm;
pub(crate) mod answers;
pub(crate) mod messages;
pub mod oracle;
pub(crate) mod potentials;
pub(crate) mod scratch;
