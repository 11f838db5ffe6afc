//! Selectors that follow the minima of an objective from strong to weak ℓ1 penalties.
//!
//! Start with `lambda_path.rs`, which both paths share: warm starts, screening, the order of λ.

pub(crate) mod l1_path;
pub(crate) mod lambda_path;
pub(crate) mod m_estimator_path;
