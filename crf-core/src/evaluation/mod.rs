//! Evaluation: predictions, and metrics of their quality; the trait `Metric`.
//!
//! `predict.rs` is the one loop that labels data, on all threads. `evaluate.rs` compares its
//! answers with the true labels. `context.rs` gives metrics what they ask for beyond that, such as
//! the answers of a reference inference, computed at the first request. The metrics are plugins in
//! `metrics`.
//!
//! **Probabilities are optional.** An `Evaluation` always has labels; it has log Z and marginals if
//! the inference computes them. Decodings and metrics say what they need (`Decode::check`,
//! `Metric::check`), and a config that asks for more is refused before anything is trained. A
//! reference is another `Evaluation` of the same model.
//!
//! This room may use everything else in the crate but `pipeline`. Start with `predict.rs`.

pub(crate) mod context;
pub(crate) mod evaluate;
pub(crate) mod metric;
pub mod metrics;
pub(crate) mod predict;
