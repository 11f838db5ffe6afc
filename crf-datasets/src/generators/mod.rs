//! Sources that draw synthetic data from a seed.
//!
//! Start with `redundant_observations.rs`; `support` has what all of them share.

pub(crate) mod coupled_chains;
pub(crate) mod hidden_transformation;
pub(crate) mod ising_grid;
pub(crate) mod log_linear_chain;
pub(crate) mod noisy_indicators;
pub(crate) mod observation_driven_transitions;
pub(crate) mod pima_markov;
pub(crate) mod potts_grid;
pub(crate) mod redundant_observations;
pub(crate) mod separable;
pub(crate) mod state_or_transition;
pub(crate) mod support;
pub(crate) mod weak_observations;
pub(crate) mod weakly_relevant;
pub(crate) mod weather;
