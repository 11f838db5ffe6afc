//! Objectives: value and gradient of a sum over sequences.
//!
//! An [`Objective`](objective::Objective) computes the value and gradient of single items, adds
//! them to partial sums, and finishes the total. [`Sharded`](sharded::Sharded) deals the items of
//! any objective to shards: their number depends on the data alone and they are summed in order, so
//! the bits are the same at any number of threads. Objectives are sums over the data, not means, so
//! λ means the same everywhere: λ₁‖w‖₁ + (λ₂/2)‖w‖².
//!
//! The likelihood counts the observed features once, as they never change; an evaluation computes
//! log Z and expectations only. Positions without a label are summed out: log Z minus log Z of the
//! labellings that agree with the known labels. Pseudo-likelihood and the M-estimator are sums over
//! *patches* (`patches.rs`): a patch gives each label of a node a score, its neighbours having
//! their true labels, and an objective turns the scores into a loss and its derivatives. Where the
//! reference distribution of the M-estimator is the same everywhere,
//! `m_estimator/centred_patches.rs` makes the data one sparse matrix, whose columns are features
//! minus their mean; it is stored by position and by column, so that gradients are gathered and
//! each number has one writer.
//!
//! This room uses `scoring` alone; no optimizer is named here. Start with `objective.rs` (the
//! trait), then `likelihood.rs`.

pub(crate) mod fixed_scores;
pub(crate) mod labels;
pub(crate) mod likelihood;
pub(crate) mod m_estimator;
pub(crate) mod objective;
pub(crate) mod patches;
pub(crate) mod pseudo_likelihood;
pub(crate) mod sharded;

pub use likelihood::LikelihoodObjective;
pub use m_estimator::{Form, MEstimatorObjective, ReferenceDistribution};
pub use objective::{Objective, PartialSum, WorkerMemory};
pub use pseudo_likelihood::PseudoLikelihoodObjective;
pub use sharded::Sharded;
