//! Where experiments get their data: generators of labelled sequences, and loaders of files.
//!
//! Each source is one file named after its tag and draws everything from the seed it is given. What they
//! share stands beside them: sizes of the parts, how the parts are drawn, and binary label chains. What
//! observations become features is left to `crf_core::prototypes`.
#![forbid(unsafe_code)]

mod binary;
mod parts;
mod pima_pools;
mod size;

mod observation_driven_transitions;
mod pima_markov;
mod redundant_observations;

pub use crate::observation_driven_transitions::ObservationDrivenTransitions;
pub use crate::pima_markov::{PimaMarkov, Pool};
pub use crate::redundant_observations::RedundantObservations;
pub use crate::size::Size;
