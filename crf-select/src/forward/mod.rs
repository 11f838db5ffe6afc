//! Selectors that add the best candidates and train on.
//!
//! Start with `selection_loop.rs`: the loop is written once, a selector gives the scores.

pub(crate) mod forward_wrapper;
pub(crate) mod grafting;
pub(crate) mod mean_field_gain;
pub(crate) mod selection_loop;
