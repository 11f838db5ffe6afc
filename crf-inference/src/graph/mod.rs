//! Inference on any graph.

mod belief_propagation;
mod dual_decomposition;
mod elimination;
mod enumeration;
mod gibbs;
mod icm;
mod junction_tree;
mod kernel;
mod mean_field;
mod net;
mod order;
mod passing;
mod queue;
mod schedule;
mod search;
mod semiring;
mod spanning;
mod tree_reweighted;

pub use belief_propagation::BeliefPropagation;
pub use dual_decomposition::DualDecomposition;
pub use enumeration::Enumeration;
pub use gibbs::Gibbs;
pub use icm::Icm;
pub use junction_tree::JunctionTree;
pub use mean_field::MeanField;
pub use schedule::Schedule;
pub use tree_reweighted::TreeReweighted;

use crf_core::{Result, require};

/// What an algorithm says that is asked for marginals and has none.
const LABELS_ONLY: &str = "finds a labelling, not marginals; `belief-propagation`, `mean-field` and `gibbs` estimate them, `junction-tree` is exact";

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
