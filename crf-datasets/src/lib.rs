//! Data of experiments: generators of labelled sequences, loaders of recorded data, and file formats.
//!
//! A [`crf_core::Source`] loads the training, validation and test data of one trial; everything random in it comes from the
//! seed it is given. A [`Format`] reads and writes files. Both are plugins: one file per plugin, named after its tag, with
//! the settings as a struct. Turning observations into features is left to `crf_core::prototypes`.
//!
//! Rooms, each of which uses only those above it:
//!
//! - `text`: files, and their checked lines and fields;
//! - `formats`: the file formats, and the trait [`Format`];
//! - `recorded`: sources of real data, among them `file`, which reads any format;
//! - `generators`: sources that draw data from a known distribution;
//! - `games`: simulated robots, with the splits of `generators`;
//! - `wrappers`: sources around other sources.
//!
//! Beside them are small helpers that any room may use: `channels.rs`, `labels.rs`, `checks.rs` and `rebuild.rs`, which copies
//! datasets with other edges or in another order.
#![forbid(unsafe_code)]

mod channels;
mod checks;
mod labels;
mod rebuild;

mod formats;
mod games;
mod generators;
mod recorded;
mod text;
mod wrappers;

pub use crate::formats::chunks::ChunkBoundary;
pub use crate::formats::conll::{Conll, Separator};
pub use crate::formats::crfsuite::Crfsuite;
pub use crate::formats::csv::Csv;
pub use crate::formats::format::Format;
pub use crate::formats::jsonl::Jsonl;
pub use crate::games::motion::Motion;
pub use crate::games::sensing::Sensing;
pub use crate::games::soccer::Soccer;
pub use crate::games::tag::{Tag, TargetScheme};
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
pub use crate::generators::support::splits::Size;
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
pub use crate::text::input::{Text, open};
pub use crate::wrappers::domains::Domains;
pub use crate::wrappers::held_out::{HeldOut, Origin, Role};
pub use crate::wrappers::linked::Linked;
pub use crate::wrappers::linked::extra_edges::{ExtraEdges, SameSymbol};
