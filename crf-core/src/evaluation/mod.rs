//! Predictions and the metrics on them; the trait `Metric`.
//!
//! Start with `evaluate.rs`; the plugins are in `metrics.rs` and `training_metric.rs`.

pub(crate) mod evaluate;
pub(crate) mod metric;
pub mod metrics;
pub(crate) mod training_metric;
