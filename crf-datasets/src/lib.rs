//! Where experiments get their data: generators of labelled sequences, and loaders of files.
//!
//! Each source is one file named after its tag and draws everything from the seed it is given. What they
//! share stands beside them: sizes of the parts, how the parts are drawn, chains of labels, noise, and edges that
//! make graphs of chains. Each format of files is one file too, around what they share: checked lines, a
//! sink for what is read and an outlet for what is written. What observations become features is left to
//! `crf_core::prototypes`.
#![forbid(unsafe_code)]

mod binary;
mod by_score;
mod channels;
mod data_dir;
mod extra_edges;
mod fields;
mod games;
mod graphs;
mod grid;
mod label_chain;
mod motion;
mod noise;
mod parts;
mod pieces;
mod pima_pools;
mod plane;
mod ranges;
mod recordings;
mod sensing;
mod size;
mod soccer_game;
mod tag_game;

mod feed;
mod format;
mod json_edges;
mod json_object;
mod lines;
mod outlet;
mod sink;

mod conll;
mod crfsuite;
mod csv;
mod jsonl;

mod activity_older;
mod coupled_chains;
mod domains;
mod file;
mod gesture_phase;
mod gestures;
mod held_out;
mod hidden_transformation;
mod hyphen;
mod ising_grid;
mod linked;
mod log_linear_chain;
mod nettalk;
mod noisy_indicators;
mod observation_driven_transitions;
mod ocr;
mod pima_markov;
mod potts_grid;
mod redundant_observations;
mod separable;
mod soccer;
mod state_or_transition;
mod tag;
mod weak_observations;
mod weakly_relevant;

pub use crate::activity_older::{ActivityOlder, Room};
pub use crate::conll::{Between, Conll};
pub use crate::coupled_chains::CoupledChains;
pub use crate::crfsuite::Crfsuite;
pub use crate::csv::Csv;
pub use crate::domains::Domains;
pub use crate::extra_edges::{ExtraEdges, SameSymbol};
pub use crate::file::File;
pub use crate::format::{Format, Text, open};
pub use crate::gesture_phase::GesturePhase;
pub use crate::gestures::Gestures;
pub use crate::held_out::{HeldOut, Origin, Role};
pub use crate::hidden_transformation::{HiddenTransformation, Transformation};
pub use crate::hyphen::Hyphen;
pub use crate::ising_grid::{IsingGrid, Signs};
pub use crate::jsonl::Jsonl;
pub use crate::linked::Linked;
pub use crate::log_linear_chain::{LogLinearChain, Observed};
pub use crate::motion::Motion;
pub use crate::nettalk::{Nettalk, Spoken};
pub use crate::noisy_indicators::NoisyIndicators;
pub use crate::observation_driven_transitions::ObservationDrivenTransitions;
pub use crate::ocr::Ocr;
pub use crate::pieces::Cut;
pub use crate::pima_markov::{PimaMarkov, Pool};
pub use crate::potts_grid::PottsGrid;
pub use crate::redundant_observations::RedundantObservations;
pub use crate::sensing::Sensing;
pub use crate::separable::Separable;
pub use crate::size::Size;
pub use crate::soccer::Soccer;
pub use crate::state_or_transition::StateOrTransition;
pub use crate::tag::{Scheme, Tag};
pub use crate::weak_observations::WeakObservations;
pub use crate::weakly_relevant::WeaklyRelevant;
