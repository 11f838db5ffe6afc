//! Inference on any graph.
//!
//! `exact` eliminates or enumerates, `messages` passes messages, `approximate` samples, bounds or
//! searches. `feasible.rs` finds a labelling that is possible at all, where the latter begin.

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

use crf_core::{Result, require};

/// The settings that all algorithms with sweeps share.
fn check_sweeps(tolerance: f64, max_sweeps: u32) -> Result<()> {
    require(tolerance >= 0.0, "tolerance", "at least 0", tolerance)?;
    require(max_sweeps > 0, "max_sweeps", "at least 1", max_sweeps)
}

/// The settings that all algorithms with messages share.
fn check_passing(damping: f64, tolerance: f64, max_sweeps: u32) -> Result<()> {
    require((0.0..1.0).contains(&damping), "damping", "at least 0 and below 1", damping)?;
    check_sweeps(tolerance, max_sweeps)
}
