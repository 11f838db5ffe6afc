//! Inference on any graph.

mod belief_propagation;
mod elimination;
mod enumeration;
mod junction_tree;
mod kernel;
mod net;
mod order;
mod passing;
mod queue;
mod schedule;
mod search;
mod semiring;

pub use belief_propagation::BeliefPropagation;
pub use enumeration::Enumeration;
pub use junction_tree::JunctionTree;
pub use schedule::Schedule;

use crf_core::{Result, require};

/// The settings that all algorithms with messages share.
fn check_passing(damping: f64, tolerance: f64, max_sweeps: u32) -> Result<()> {
    require((0.0..1.0).contains(&damping), "damping", "at least 0 and below 1", damping)?;
    require(tolerance >= 0.0, "tolerance", "at least 0", tolerance)?;
    require(max_sweeps > 0, "max_sweeps", "at least 1", max_sweeps)
}
