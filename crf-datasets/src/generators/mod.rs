//! Generators (plugins): sources that draw data from a known distribution.
//!
//! Start with `redundant_observations.rs`, a Markov chain of labels with noisy copies. Most
//! generators follow a paper and list their deviations from it. `potts_grid`, `ising_grid` and
//! `coupled_chains` draw graphs; `weather` is little data with a channel of every kind, on which
//! every plugin can be tried. The machinery they share is in `support`: splits and their sizes,
//! Markov chains of labels, grids, distributions.
//!
//! Uses `text` only for the file of `pima-markov`. Every sequence has a seed of its own, so that
//! neither the number of sequences nor the size of another split changes it.

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

pub use self::support::*;
pub use coupled_chains::CoupledChains;
pub use hidden_transformation::{HiddenTransformation, Transformation};
pub use ising_grid::{IsingGrid, Signs};
pub use log_linear_chain::{LogLinearChain, Observed};
pub use noisy_indicators::NoisyIndicators;
pub use observation_driven_transitions::ObservationDrivenTransitions;
pub use pima_markov::{PimaMarkov, Pool};
pub use potts_grid::PottsGrid;
pub use redundant_observations::RedundantObservations;
pub use separable::Separable;
pub use state_or_transition::StateOrTransition;
pub use weak_observations::WeakObservations;
pub use weakly_relevant::WeaklyRelevant;
pub use weather::Weather;
