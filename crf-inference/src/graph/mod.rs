//! Inference on any graph.
//!
//! Three families of plugins: `exact` eliminates nodes or enumerates labellings, `messages` passes messages,
//! `approximate` samples, bounds or searches. None names anything of another. `messages` and `approximate` share
//! `feasible.rs`, which finds a labelling that is possible at all.
//!
//! Messages see contradictions between neighbours only. Where potentials forbid something, a search with backtracking and a
//! budget finds a possible labelling or proves that there is none. Mean field, Gibbs sampling, ICM and dual decomposition
//! start from that labelling.
//!
//! Start with `exact/junction_tree.rs`, which is exact, or with `messages/mod.rs`, which is fast.

pub(crate) mod approximate;
pub(crate) mod exact;
pub(crate) mod feasible;
pub(crate) mod messages;

pub use approximate::dual_decomposition::DualDecomposition;
pub use approximate::gibbs::Gibbs;
pub use approximate::icm::Icm;
pub use approximate::mean_field::MeanField;
pub use exact::enumeration::Enumeration;
pub use exact::junction_tree::JunctionTree;
pub use messages::belief_propagation::BeliefPropagation;
pub use messages::schedule::MessageSchedule;
pub use messages::tree_reweighted::TreeReweighted;
