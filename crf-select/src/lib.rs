//! Feature selection: paths of candidate models, small to large.
//!
//! A selector proposes and the caller disposes: [`choose`] takes the best candidate of a path by data that the selector
//! never sees, and the learner that trains the survivors afterwards is whichever a config names. The learner `as-selected`
//! leaves the weights as a selector found them.
//!
//! Selectors that train share two loops. `penalties.rs` follows the minima of an objective from strong to weak ℓ1
//! penalties; `forward.rs` adds the candidates that score best and trains on. Both look at all candidates through a
//! `Field`: one pass over the data gives the derivative of every one of them.
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

mod choice;
mod columns;
mod field;
mod forward;
mod gain;
mod lists;
mod mean;
mod penalties;
mod proximal;
mod ranking;
mod sights;
mod steps;
mod trail;

mod as_selected;
mod correlation;
mod cross_validated;
mod forward_wrapper;
mod grafting;
mod in_part;
mod l1_path;
mod logit_boost;
mod m_estimator_path;
mod mean_field_gain;
mod mutual_information;
mod none;
mod patient;
mod relief;
mod shortlist;

pub use crate::as_selected::AsSelected;
pub use crate::choice::{Chosen, Tried, choose, choose_seen};
pub use crate::correlation::Correlation;
pub use crate::cross_validated::CrossValidated;
pub use crate::forward::Rounds;
pub use crate::forward_wrapper::ForwardWrapper;
pub use crate::grafting::Grafting;
pub use crate::in_part::InPart;
pub use crate::l1_path::L1Path;
pub use crate::logit_boost::LogitBoost;
pub use crate::m_estimator_path::{MEstimatorPath, Patches};
pub use crate::mean_field_gain::{MeanFieldGain, Neighbours, Positions, Probabilities};
pub use crate::mutual_information::MutualInformation;
pub use crate::none::None;
pub use crate::patient::Patient;
pub use crate::penalties::Penalties;
pub use crate::ranking::Sizes;
pub use crate::relief::Relief;
pub use crate::shortlist::Shortlist;
