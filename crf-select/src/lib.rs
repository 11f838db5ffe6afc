//! Feature selection: paths of candidate models, small to large.
//!
//! A selector proposes and the caller disposes: [`choose`](crf_core::choose) takes the best candidate of a path by data that the selector
//! never sees, and the learner that trains the survivors afterwards is whichever a config names. The learner `as-selected`
//! leaves the weights as a selector found them.
//!
//! Selectors that train share two loops. `lambda_path.rs` follows the minima of an objective from strong to weak ℓ1
//! penalties; `selection_loop.rs` adds the candidates that score best and trains on. Both look at all candidates through a
//! `CandidateObjective`: one pass over the data gives the derivative of every one of them.
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
