//! Selectors that follow the minima of an objective from strong to weak ℓ1 penalties.
//!
//! Start with `lambda_path.rs`, the walk from λ to λ that both paths share: warm starts, screening
//! by the strong rule, and the check of the optimality conditions. Weights and curvature go on from
//! λ to λ and from one set of features to the next, since the smooth part of the objective is the
//! same function. Sets are kept small, because an objective of few features needs few data.
//!
//! The plugins differ in their objective:
//!
//! - `l1_path.rs` takes the likelihood, which needs inference at every evaluation.
//! - `m_estimator_path.rs` takes the M-estimator over patches, which needs none. Where labels
//!   seldom change, true neighbours tell nearly all, so it selects state and transition features by
//!   themselves.
//!
//! The room uses `candidates/`.

pub(crate) mod l1_path;
pub(crate) mod lambda_path;
pub(crate) mod m_estimator_path;

pub use lambda_path::LambdaPath;
pub use m_estimator_path::{MEstimatorPath, Patches};
