//! Experiments from a file to a report, models from a data file to their use, and the command line of both.
//!
//! What is compared, trained or read lives in the crates linked below; this one only knows their traits.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(feature = "terminal"),
    allow(dead_code, unused_imports, reason = "only the command line uses them")
)]

pub mod claims;
#[cfg(feature = "terminal")]
pub mod cli;
pub mod config;
#[cfg(feature = "report")]
pub mod report;

mod catalogue;
mod experiment;
mod graph_queries;
mod located_toml;
mod model;
mod results;
mod support;

mod error;
mod public_data;

pub use crate::catalogue::example::{example, experiment};
pub use crate::catalogue::kind::{Kind, Refused};
pub use crate::catalogue::manual::{Entry, documentation, entries};
pub use crate::claims::claim::{At, Claim, Names, Outcome, Statement, Verdict};
pub use crate::error::{Error, Result};
pub use crate::experiment::cell::{Cell, Seconds};
pub use crate::experiment::runner::{Results, run};
pub use crate::experiment::shard::Shard;
pub use crate::graph_queries::answer::{Answer, answer};
pub use crate::model::calibration::{Bin, Calibration};
pub use crate::model::file::{ModelContents, ModelFile, PredictionSettings};
pub use crate::model::scores::{LabelScores, Scores};
pub use crate::model::trainer::Trainer;
pub use crate::results::mean_interval::MeanInterval;
pub use crate::results::selection_path::PathPoint;
pub use crate::results::summary::{Line, MetricColumn, Summary};
pub use crate::support::hardware::Hardware;

// Plugins are named by tag only; without these lines the linker would leave them out.
use crf_datasets as _;
use crf_inference as _;
use crf_learn as _;
use crf_select as _;
