//! Experiments from a file to a report, models from a data file to their use, and the command line of both.
//!
//! What is compared, trained or read lives in the crates linked below; this one only knows their traits.
#![forbid(unsafe_code)]

pub mod config;

mod cell;
mod cost;
mod digest;
mod journal;
mod path;
mod run_directory;
mod runner;
mod selections;
mod shard;
mod workers;

mod estimate;
mod summary;

mod claim;
pub mod claims;

pub mod report;

mod example;
mod kinds;
mod manual;
mod weather;

mod answer;
mod calibration;
mod data;
mod data_sets;
mod graph_json;
mod model_file;
mod predict;
mod scores;
mod training;
mod tuning;

pub mod cli;
mod draft;
mod encoding;
mod error;
mod hardware;
mod machine;
mod progress;

pub use crate::answer::{Answer, answer};
pub use crate::calibration::{Bin, Calibration};
pub use crate::cell::{Cell, Seconds};
pub use crate::claim::{At, Claim, Names, Outcome, Statement, Verdict};
pub use crate::error::{Error, Result};
pub use crate::estimate::Estimate;
pub use crate::example::{example, example_file, experiment};
pub use crate::hardware::Hardware;
pub use crate::kinds::{Kind, Refused};
pub use crate::manual::{Entry, documentation, entries};
pub use crate::model_file::{Content, ModelFile, Serving};
pub use crate::path::Step;
pub use crate::predict::{Ask, Prediction, predict};
pub use crate::runner::{Results, run};
pub use crate::scores::{LabelScores, Scores};
pub use crate::shard::Shard;
pub use crate::summary::{Column, Line, Summary};
pub use crate::weather::Weather;

// Plugins are named by tag only; without these lines the linker would leave them out.
use crf_datasets as _;
use crf_inference as _;
use crf_learn as _;
use crf_select as _;
