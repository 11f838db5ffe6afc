//! The vocabulary every plugin shares: datasets, features, potentials, beliefs, and the traits.
//!
//! Nothing here runs an algorithm that iterates; inference, learners and selectors live in the crates
//! that depend on this one. The way of the data through the modules below is the way down this list.
#![deny(unsafe_code)]

mod alphabet;
mod dataset;
mod graph;
mod names;
mod schema;

mod features;
mod label_pattern;
mod prototype;
pub mod prototypes;
mod relational;

mod aligned;
mod bundles;
mod corpus;
mod edge_scores;
mod estimate;
mod feature_map;
mod fingerprint;
mod lanes;
mod merged;
mod node_base;
mod packed;
mod scorer;
mod sparse;
mod survey;

mod bands;
mod beliefs;
mod potentials;
mod scratch;

mod constraints;
mod inference;
mod learner;
mod log_linear;
mod messages;
mod model;
mod moments;
mod selector;
mod source;

mod evaluation;
mod metric;
pub mod metrics;
mod training_metric;

mod bulk;
mod error;
pub mod oracle;
mod pieces;
pub mod plugin;
mod seed;
pub mod simd;

pub use crate::aligned::Aligned;
pub use crate::alphabet::{Alphabet, Label};
pub use crate::beliefs::{Beliefs, Bound, Decoded, EdgeBeliefs, Effort, LogZ, Stop};
pub use crate::constraints::{Constrained, ConstrainedTables, Constraints, Forbidden, Scheme};
pub use crate::corpus::Corpus;
pub use crate::dataset::{Column, Dataset, DatasetBuilder, Sequence, Value};
pub use crate::error::{Error, Result, hint, nearest, require};
pub use crate::estimate::Estimate;
pub use crate::evaluation::{Decode, Evaluation, Probabilities, evaluate, require_marginals};
pub use crate::feature_map::{FeatureMap, Links, Target};
pub use crate::features::{FeatureSpec, Features, FittedFeatures, Link, Pairs};
pub use crate::graph::{Edge, Graph, Incidence, Shape};
pub use crate::inference::{Inference, KBest, Labelling, Sampler};
pub use crate::label_pattern::{LabelPattern, Labels};
pub use crate::learner::{Fit, Iteration, Learner, Next, Problem, Run, Trace};
pub use crate::log_linear::LogLinear;
pub use crate::merged::Merged;
pub use crate::messages::{MessagePassing, Messages};
pub use crate::metric::{Metric, Needs};
pub use crate::model::{BoundModel, Model};
pub use crate::names::Names;
pub use crate::plugin::Plugin;
pub use crate::potentials::{EdgeTables, OwnedPotentials, Potentials, Tables};
pub use crate::prototype::{Block, Encoder, Observation, Prototype};
pub use crate::schema::{Channel, ChannelKind, NodeKind, Relation, Schema};
pub use crate::scorer::Scorer;
pub use crate::scratch::Scratch;
pub use crate::seed::{Rng, Seed};
pub use crate::selector::{Candidate, Selector};
pub use crate::source::{Source, Splits};
pub use crate::sparse::Rows;
pub use crate::survey::Survey;
