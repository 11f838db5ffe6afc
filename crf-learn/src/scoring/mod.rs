//! Scores and expectations of many weights on one encoded dataset, laid out for speed.
//!
//! Start with `scorer.rs`; the layouts behind it are `weight_layout.rs`, `bundles.rs` and
//! `dense_runs.rs`.

pub(crate) mod bundles;
pub(crate) mod column_fingerprint;
pub(crate) mod dense_runs;
pub(crate) mod merged_features;
pub(crate) mod padded_rows;
pub(crate) mod scorer;
pub(crate) mod weight_layout;
