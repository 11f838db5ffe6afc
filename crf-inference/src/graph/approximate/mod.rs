//! Approximate inference that samples, bounds or searches: Gibbs sampling, mean field, ICM and dual
//! decomposition.
//!
//! One plugin per file; `icm.rs` is the shortest. All begin at a labelling found by `feasible.rs`
//! (mean field only where something is forbidden) and use nothing of each other.

pub(crate) mod dual_decomposition;
pub(crate) mod gibbs;
pub(crate) mod icm;
pub(crate) mod mean_field;

pub use dual_decomposition::DualDecomposition;
pub use gibbs::Gibbs;
pub use icm::Icm;
pub use mean_field::MeanField;
