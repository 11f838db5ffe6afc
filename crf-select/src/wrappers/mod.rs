//! Selectors around selectors: chosen by cross-validation, on a short list, in one part of the
//! data, with patience, at the end.
//!
//! A wrapper follows the path of the selector that it wraps, on other data or other candidates, and
//! emits some of what it sees. So nothing else knows of folds, parts or patience, and wrappers can
//! be nested. `in-part` as a selector and `in-part` as a learner (crf-learn) are what makes
//! "selected here, trained there" two settings of one experiment.
//!
//! Start with `last.rs`, the shortest. The room uses `candidates/`, and `l1-path` or `grafting`
//! as default selectors.

pub(crate) mod cross_validated;
pub(crate) mod in_part;
pub(crate) mod last;
pub(crate) mod patient;
pub(crate) mod shortlist;

pub use cross_validated::CrossValidated;
pub use in_part::InPart;
pub use last::Last;
pub use patient::Patient;
pub use shortlist::Shortlist;
