//! Inference on any graph.
//!
//! Three families of plugins: `exact` eliminates nodes or enumerates labellings, `messages` passes
//! messages, `approximate` samples, bounds or searches. No plugin names another. `messages` and
//! `approximate` share `feasible.rs`, which finds a labelling that is possible at all.
//!
//! Messages see contradictions between neighbours only. Where potentials forbid something, a search
//! finds a possible labelling or proves that there is none, with the clique tree of `exact` as its
//! last resort. Mean field, Gibbs sampling, ICM and dual decomposition start from that labelling.
//!
//! Start with `exact/junction_tree.rs`, which is exact, or with `messages/mod.rs`, which is fast.

pub(crate) mod approximate;
pub(crate) mod exact;
pub(crate) mod feasible;
pub(crate) mod messages;

pub use self::approximate::*;
pub use self::exact::*;
pub use self::messages::*;
