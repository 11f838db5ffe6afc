//! Pipeline from data to a trained model, in memory: fit the features, encode, number the weights,
//! select, fit.
//!
//! Experiments, `crf train`, tuning and linfa's adapter all take these steps (`prepare.rs`).
//! `choose.rs` takes the best candidate of a selector's path.
//!
//! This room names no selector and no learner, touches no file and no terminal, and may use
//! everything else in the crate. Start with `prepare.rs`.

pub(crate) mod choose;
pub(crate) mod prepare;
