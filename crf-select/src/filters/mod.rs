//! Selectors that score features without training a model.
//!
//! Start with `ranking.rs`, the cut that all filters share.

pub(crate) mod correlation;
pub(crate) mod mutual_information;
pub(crate) mod ranking;
pub(crate) mod relief;
