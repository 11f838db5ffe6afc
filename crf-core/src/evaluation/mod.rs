//! Predictions, and numbers that say how good they are; the trait `Metric`.
//!
//! Start with `predict.rs`, the loop that labels data. `evaluate.rs` compares its answers with the true labels,
//! `context.rs` gives metrics what they ask for beyond that, and the plugins are in `metrics`. This room may use
//! everything else in the crate.

pub(crate) mod context;
pub(crate) mod evaluate;
pub(crate) mod metric;
pub mod metrics;
pub(crate) mod predict;
