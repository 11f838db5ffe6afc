//! Learners that are an objective, an optimizer and a penalty.
//!
//! Start with `mle.rs`, then `minimisation.rs`, which the three learners share.

pub(crate) mod m_estimator;
pub(crate) mod minimisation;
pub(crate) mod mle;
pub(crate) mod pseudo_likelihood;
