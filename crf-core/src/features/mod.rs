//! Observation functions, the labels they are tied to, and encoded data; the trait `Prototype`.
//!
//! Start with `spec.rs`: a list of features is fitted on data, then encodes any data. Features are
//! evaluated in `encoding_chunks.rs` through the plugins in `prototypes`; `feature_map.rs` numbers the
//! weights.

pub(crate) mod encoded_dataset;
pub(crate) mod encoding_chunks;
pub(crate) mod encoding_size;
pub(crate) mod feature_map;
pub(crate) mod feature_set;
pub(crate) mod fitted;
pub(crate) mod fitted_entry;
pub(crate) mod label_pattern;
pub(crate) mod prototype;
pub mod prototypes;
pub(crate) mod spec;
