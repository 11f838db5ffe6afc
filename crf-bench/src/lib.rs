//! Models from a data file to their use, experiments from a config to a report, and the command
//! line of both.
//!
//! Learners, inference, selectors, formats and sources live in the crates linked below; this crate
//! knows only their traits and finds them by their names in configs.
//!
//! # From a program
//!
//! [`Trainer`] trains a model, [`ModelFile`] saves, loads and uses it. The first thing to try:
//!
//! ```no_run
//! use crf_bench::{ModelFile, Trainer};
//! use crf_core::{Features, prototypes::Equals};
//! use crf_datasets::Conll;
//! use crf_learn::{Minimisation, Mle};
//!
//! let format = Conll { columns: vec!["word".into(), "pos".into()], ..Conll::default() };
//! let model = Trainer::new(format)
//!     .features(Features::new().intercept().transition().state(Equals::default()))
//!     .learner(Mle(Minimisation { l2: 1.0, ..Minimisation::default() }))
//!     .train_file("train.txt")?;
//! model.save("chunks.crf".as_ref())?;
//! for labels in ModelFile::load("chunks.crf".as_ref())?.tag_file("test.txt")? {
//!     println!("{}", labels.join(" "));
//! }
//! # Ok::<(), crf_bench::Error>(())
//! ```
//!
//! `examples/train_and_tag.rs` is the same as a program:
//! `cargo run -p crf-bench --example train_and_tag -- train.txt test.txt model.crf`.
//! [`Trainer::from_toml`] reads a config of `crf train`, [`ModelFile::evaluate_file`] gives
//! [`Scores`], and [`answer`] runs inference on a single graph.
//!
//! # Experiments
//!
//! [`config::load`] reads an experiment file into a [`config::Plan`], [`run`] runs all its cells,
//! and [`Results::summary`] gives means with intervals. With the feature `report`, `report::Report`
//! judges the claims and shows the results.
//!
//! A program with plugins of its own calls `cli::main`: its plugins then have the same commands and
//! experiment files as those of the toolkit. The example `examples/majority` is such a program with
//! one more learner.
//!
//! # Features
//!
//! - `terminal` (default): the module `cli` and the binary `crf`, with progress bars; implies
//!   `report`.
//! - `report`: run directories, and the pages and figures of finished runs.
//!
//! A program that only trains and uses models needs neither: `default-features = false`.
//!
//! # Where to start reading
//!
//! `model` trains and uses models; `config` reads files, `experiment` runs them, `results`,
//! `claims` and `report` follow. `catalogue` explains plugins, `located_toml` gives errors their
//! line and column, `cli` is the command line.
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
pub use crate::graph_queries::json::potentials as graph_from_json;
pub use crate::model::calibration::{Bin, Calibration};
pub use crate::model::file::{ModelContents, ModelFile, PredictionSettings};
pub use crate::model::scores::{LabelScores, Scores};
pub use crate::model::trainer::Trainer;
pub use crate::results::mean_interval::MeanInterval;
pub use crate::results::selection_path::PathPoint;
pub use crate::results::summary::{Line, MetricColumn, Summary};
pub use crate::support::hardware::Hardware;

// Plugins are named by tag only; without these lines the linker would drop them.
use crf_datasets as _;
use crf_inference as _;
use crf_learn as _;
use crf_select as _;
