//! Where experiments get their data: generators of labelled sequences, and loaders of files.
//!
//! Each source is one file named after its tag and draws everything from the seed it is given. What they
//! share stands beside them: sizes of the parts, how the parts are drawn, chains of labels, noise, and edges that
//! make graphs of chains. Each format of files is one file too, around what they share: checked lines, a
//! sink for what is read and an outlet for what is written. What observations become features is left to
//! `crf_core::prototypes`.
#![forbid(unsafe_code)]

mod formats;
mod games;
mod generators;
mod recorded;
mod text;
mod wrappers;

mod channels;

pub use crate::formats::chunks::ChunkBoundary;
pub use crate::formats::conll::{Between, Conll};
pub use crate::formats::crfsuite::Crfsuite;
pub use crate::formats::csv::Csv;
pub use crate::formats::format::{Format, Text, open};
pub use crate::formats::jsonl::Jsonl;
pub use crate::games::motion::Motion;
pub use crate::games::sensing::Sensing;
pub use crate::games::soccer::Soccer;
pub use crate::games::tag::{Course, Tag};
pub use crate::generators::coupled_chains::CoupledChains;
pub use crate::generators::hidden_transformation::{HiddenTransformation, Transformation};
pub use crate::generators::ising_grid::{IsingGrid, Signs};
pub use crate::generators::log_linear_chain::{LogLinearChain, Observed};
pub use crate::generators::noisy_indicators::NoisyIndicators;
pub use crate::generators::observation_driven_transitions::ObservationDrivenTransitions;
pub use crate::generators::pima_markov::{PimaMarkov, Pool};
pub use crate::generators::potts_grid::PottsGrid;
pub use crate::generators::redundant_observations::RedundantObservations;
pub use crate::generators::separable::Separable;
pub use crate::generators::state_or_transition::StateOrTransition;
pub use crate::generators::support::size::Size;
pub use crate::generators::weak_observations::WeakObservations;
pub use crate::generators::weakly_relevant::WeaklyRelevant;
pub use crate::generators::weather::Weather;
pub use crate::recorded::activity_older::{ActivityOlder, Room};
pub use crate::recorded::file::File;
pub use crate::recorded::gesture_phase::GesturePhase;
pub use crate::recorded::gestures::Gestures;
pub use crate::recorded::hyphen::Hyphen;
pub use crate::recorded::nettalk::{Nettalk, Spoken};
pub use crate::recorded::ocr::Ocr;
pub use crate::wrappers::domains::Domains;
pub use crate::wrappers::held_out::{HeldOut, Origin, Role};
pub use crate::wrappers::linked::Linked;
pub use crate::wrappers::linked::extra_edges::{ExtraEdges, SameSymbol};
