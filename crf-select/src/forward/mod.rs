//! Forward selection: selectors that add the best candidates and train on.
//!
//! Start with `selection_loop.rs`, the loop that all of them share; a plugin is a score of the
//! candidates:
//!
//! - `grafting.rs` takes the derivative of the likelihood;
//! - `mean_field_gain.rs` takes the gain of likelihood with a best weight, positions taken by
//!   themselves. With true neighbours the marginals of the model do not know what the neighbours
//!   have said already, so transition features promise to say it again; conditional probabilities
//!   know it;
//! - `forward_wrapper.rs` trains a model with the candidate.
//!
//! A round starts from the weights and the curvature of the one before, next to its minimum. A
//! feature along which the likelihood has no slope gives nothing, whatever its score: `dist>k` is
//! everything except `dist<k`, so once one of them is in the model the other promises a gain and
//! gives none. Such candidates come last, and a round without a gain is undone.
//!
//! The room uses `candidates/`.

pub(crate) mod forward_wrapper;
pub(crate) mod grafting;
pub(crate) mod mean_field_gain;
pub(crate) mod selection_loop;

pub use forward_wrapper::ForwardWrapper;
pub use grafting::Grafting;
pub use mean_field_gain::{GainProbabilities, MeanFieldGain, Neighbours, Positions};
pub use selection_loop::ForwardSettings;
