//! Feature selection: paths of candidate models, small to large.
//!
//! A selector emits candidate models and forgets them. [`choose`](crf_core::choose) keeps the best
//! one by data that the selector never sees, and the learner that a config names trains its
//! features, starting from the selector's weights if there are any. The learner `as-selected` keeps
//! those weights as they are.
//!
//! Rooms, each with its plugins:
//!
//! - `filters`: scores without training (`mutual-information`, `correlation`, `relief`);
//! - `forward`: adds the best candidates and trains on (`grafting`, `mean-field-gain`,
//!   `forward-wrapper`);
//! - `penalty_path`: minima under ever weaker ℓ1 penalties (`l1-path`, `m-estimator-path`);
//! - `wrappers`: selectors around selectors (`cross-validated`, `patient`, `shortlist`, `in-part`,
//!   `last`);
//! - `baselines`: `none`, `logit-boost`, and the learner `as-selected`.
//!
//! They stand on `candidates`, which knows no selector. Its `CandidateObjective` holds the
//! objective over all candidate features: one pass over the data gives the derivative of every one
//! of them, and few features are trained on few data. Two loops use it:
//! `penalty_path/lambda_path.rs` and `forward/selection_loop.rs`. Both train small sets of features
//! again and again, each next to the minimum before, with the curvature learnt so far.
//!
//! Start with `forward/grafting.rs`, the shortest selector that trains. A new selector is one file
//! and its `mod` and `pub use` lines. The crate knows no inference and no data source; learners,
//! objectives and optimizers come from crf-learn.
//!
#![doc = include_str!("../../docs/from-rust.md")]
//!
//! ```
//! use crf_core::Selector;
//! use crf_select as _; // configs name selectors by tag, so nothing else would link the crate
//!
//! let selector: Box<dyn Selector> = serde_json::from_str(r#"{"type": "none"}"#)?;
//! assert!(selector.check().is_ok());
//! # Ok::<(), serde_json::Error>(())
//! ```
#![forbid(unsafe_code)]

mod baselines;
mod candidates;
mod filters;
mod forward;
mod penalty_path;
mod wrappers;

pub use crate::baselines::*;
pub use crate::filters::*;
pub use crate::forward::*;
pub use crate::penalty_path::l1_path::L1Path;
pub use crate::penalty_path::*;
pub use crate::wrappers::*;
