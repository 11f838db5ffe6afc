//! Log-linear learners (plugins): an objective, an optimizer and a penalty.
//!
//! `mle`, `pseudo-likelihood` and `m-estimator` differ in their objective alone. All else they
//! share in [`Minimisation`](minimisation::Minimisation): settings, two-stage training, early
//! stopping, and the merging of features that the data do not distinguish. The room uses `scoring`,
//! `objectives`, `training` and `optimizers`; `neural` and `wrappers` use it.
//!
//! To follow a training read `mle.rs`, `minimisation.rs`, `objectives/likelihood.rs` and
//! `optimizers/lbfgs.rs`, in this order.

pub(crate) mod m_estimator;
pub(crate) mod minimisation;
pub(crate) mod mle;
pub(crate) mod pseudo_likelihood;

pub use m_estimator::{MEstimator, Reference};
pub use minimisation::Minimisation;
pub use mle::Mle;
pub use pseudo_likelihood::PseudoLikelihood;
