//! Vocabulary and traits that every plugin shares: data, features, potentials, answers, models,
//! learners, metrics.
//!
//! Nothing here runs an algorithm that iterates: inference, learners and selectors are in the
//! crates that depend on this one. The rooms, in the order of the data through them, each of which
//! uses only rooms above it:
//!
//! - `numeric`: vector instructions, aligned memory, storage of numbers;
//! - `data`: datasets, schemas, graphs; trait [`Source`];
//! - `features`: observation functions, feature maps, encoded data; trait [`Prototype`] and its
//!   plugins;
//! - `inference`: potentials of one instance and the answers about it; trait [`Inference`];
//! - `models`: from encoded data to potentials, constraints; trait [`Model`];
//! - `learning`: traits [`Learner`] and [`Selector`];
//! - `evaluation`: predictions; trait [`Metric`] and its plugins;
//! - `pipeline`: from data to a trained model.
//!
//! Beside them are the errors ([`Error`]), named streams of random numbers ([`Seed`]) and the
//! registry of plugins ([`mod@plugin`]). All public names are re-exported here.
//!
#![doc = include_str!("../../docs/from-rust.md")]
#![deny(unsafe_code)]

mod data;
mod evaluation;
mod features;
mod inference;
mod learning;
mod models;
mod numeric;
mod pipeline;

mod error;
mod memory;
pub mod plugin;
mod printable;
mod seed;

pub use crate::data::alphabet::{Alphabet, Label};
pub use crate::data::dataset::{Column, Dataset, Sequence, Value};
pub use crate::data::dataset_builder::DatasetBuilder;
pub use crate::data::graph::{Edge, Graph, Incidence, Shape};
pub use crate::data::packed_strings::PackedStrings;
pub use crate::data::schema::{Channel, ChannelKind, NodeKind, Relation, Schema};
pub use crate::data::source::{Source, Splits};
pub use crate::data::sparse_rows::SparseRows;
pub use crate::error::{Error, Result, hint, nearest, require};
pub use crate::evaluation::context::EvaluationContext;
pub use crate::evaluation::evaluate::{Evaluation, Probabilities, evaluate};
pub use crate::evaluation::metric::Metric;
pub use crate::evaluation::metrics;
pub use crate::evaluation::predict::{Decode, Prediction, Query, predict, predict_each};
pub use crate::features::encoded_dataset::EncodedDataset;
pub use crate::features::encoding_size::EncodingSize;
pub use crate::features::feature_map::{FeatureMap, Target};
pub use crate::features::feature_set::FeatureSet;
pub use crate::features::fitted::FittedFeatures;
pub use crate::features::label_pattern::{LabelPattern, Labels};
pub use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};
pub use crate::features::prototypes;
pub use crate::features::spec::{FeatureSpec, Features, Link, Pairs};
pub use crate::features::units::{feature_units, warn_of_units};
pub use crate::inference::algorithm::{Inference, KBest, Labelling, Marginals, Sampler};
pub use crate::inference::answers::{Beliefs, Bound, Convergence, Decoded, EdgeBeliefs, LogZ, Stop};
pub use crate::inference::messages::{MessagePassing, Messages};
pub use crate::inference::oracle;
pub use crate::inference::potentials::{EdgeTables, OwnedPotentials, Potentials, TableVersion, Tables};
pub use crate::inference::scratch::Scratch;
pub use crate::learning::learner::{Fit, FitContext, Iteration, Learner, Problem, Trace};
pub use crate::learning::selector::{Candidate, Selector};
pub use crate::memory::{available_memory, readable_size, require_memory};
pub use crate::models::chunk_scheme::ChunkScheme;
pub use crate::models::constraints::{Constrained, ConstrainedTables, Constraints, Forbidden};
pub use crate::models::log_linear::LogLinear;
pub use crate::models::model::{BoundModel, Model};
pub use crate::numeric::aligned::Aligned;
pub use crate::numeric::compensated_sum::CompensatedSum;
pub use crate::numeric::simd;
pub use crate::pipeline::choose::{Chosen, TriedCandidate, choose, choose_with};
pub use crate::pipeline::prepare::{Encode, Prepared, Trained, encode, fit_selected, select_and_fit};
pub use crate::plugin::Plugin;
pub use crate::printable::printable;
pub use crate::seed::{Rng, Seed};

/// Internals that the scoring kernels of `crf-learn` share with [`LogLinear`]; no promise to
/// anybody else.
#[doc(hidden)]
pub mod kernel_support {
    pub use crate::data::graph::offsets;
    pub use crate::models::constant_scores::ConstantScores;
    pub use crate::models::edge_scores::{EdgeScores, OwnTables};
}
