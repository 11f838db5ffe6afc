//! Filters: selectors that score features without training a model.
//!
//! A filter scores every feature by itself and reports the first n of the ranking for growing n,
//! without weights. It costs one pass over the functions, and sees neither that two features say
//! the same nor that two say something together. Start with `ranking.rs`, which all filters share:
//! the statistics of a function, and the path from a ranking. The room uses `candidates/` only.

pub(crate) mod correlation;
pub(crate) mod mutual_information;
pub(crate) mod ranking;
pub(crate) mod relief;

pub use correlation::Correlation;
pub use mutual_information::MutualInformation;
pub use ranking::Sizes;
pub use relief::Relief;
