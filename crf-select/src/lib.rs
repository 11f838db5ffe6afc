//! Feature selection: paths of candidate models, small to large.
//!
//! A selector emits candidate models and forgets them. [`choose`](crf_core::choose) keeps the best one by data that the selector
//! never sees, and the learner that a config names trains its features, starting from the selector's weights if there are any. The
//! learner `as-selected` keeps those weights as they are.
//!
//! Rooms, each with its plugins:
//!
//! - `filters`: scores without training (`mutual-information`, `correlation`, `relief`);
//! - `forward`: adds the best candidates and trains on (`grafting`, `mean-field-gain`, `forward-wrapper`);
//! - `penalty_path`: minima under ever weaker ℓ1 penalties (`l1-path`, `m-estimator-path`);
//! - `wrappers`: selectors around selectors (`cross-validated`, `patient`, `shortlist`, `in-part`);
//! - `baselines`: `none`, `logit-boost`, and the learner `as-selected`.
//!
//! They stand on `candidates`, which knows no selector. Its `CandidateObjective` holds the objective over all candidate features:
//! one pass over the data gives the derivative of every one of them, and few features are trained on few data. Two loops use
//! it: `penalty_path/lambda_path.rs` and `forward/selection_loop.rs`. Both train small sets of features again and again, each next
//! to the minimum before, with the curvature learnt so far.
//!
//! Start with `forward/grafting.rs`, the shortest selector that trains. A new selector is one file and its `mod` and `pub use` lines.
//! The crate knows no inference and no data source; learners, objectives and optimizers come from crf-learn.
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

pub use crate::baselines::as_selected::AsSelected;
pub use crate::baselines::logit_boost::LogitBoost;
pub use crate::baselines::none::None;
pub use crate::filters::correlation::Correlation;
pub use crate::filters::mutual_information::MutualInformation;
pub use crate::filters::ranking::Sizes;
pub use crate::filters::relief::Relief;
pub use crate::forward::forward_wrapper::ForwardWrapper;
pub use crate::forward::grafting::Grafting;
pub use crate::forward::mean_field_gain::{GainProbabilities, MeanFieldGain, Neighbours, Positions};
pub use crate::forward::selection_loop::ForwardSettings;
pub use crate::penalty_path::l1_path::L1Path;
pub use crate::penalty_path::lambda_path::LambdaPath;
pub use crate::penalty_path::m_estimator_path::{MEstimatorPath, Patches};
pub use crate::wrappers::cross_validated::CrossValidated;
pub use crate::wrappers::in_part::InPart;
pub use crate::wrappers::patient::Patient;
pub use crate::wrappers::shortlist::Shortlist;
