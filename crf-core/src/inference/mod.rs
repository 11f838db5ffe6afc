//! Potentials of one instance, and the answers about them; the trait `Inference`.
//!
//! **Potentials are data.** Clamping, loss augmentation and forbidding are edits of the potentials
//! between filling and inference, not features of every algorithm. −∞ forbids. An instance without
//! any possible labelling is an `Infeasible` error; NaN and +∞ are reported with their position.
//!
//! **Edges share tables.** Each distinct edge table is stored once (`Tables`), and edge beliefs are
//! summed into the table that an edge uses, so a likelihood never holds T·L² numbers. Callers that
//! need the marginals of every edge ask for `EdgeBeliefs::PerEdge`.
//!
//! **Versions, not flags.** Each set of tables has a version, unique in the process. A kernel keeps
//! exp(table) for the version it saw last, so it exponentiates once per weight vector and worker
//! without being told.
//!
//! **Answers state their quality.** `LogZ` is exact, a lower bound, an upper bound or an estimate;
//! `Decoded` has an upper bound if one is known; both tell why and after how many sweeps the
//! algorithm stopped.
//!
//! **Callers own memory.** Every worker has a `Scratch`, in which each algorithm keeps one value of
//! a type of its own, so that nothing is allocated in loops.
//!
//! This room may use `data` and `numeric`; the algorithms are in `crf-inference`. Start with
//! `algorithm.rs` and `potentials.rs`. `oracle.rs` enumerates all labellings, for tests.

pub(crate) mod algorithm;
pub(crate) mod answers;
pub(crate) mod messages;
pub mod oracle;
pub(crate) mod potentials;
pub(crate) mod scratch;
