//! From data to a trained model, in memory: fit the features, encode, number the weights, select, fit.
//!
//! Start with `prepare.rs`: experiments, `crf train`, tuning and linfa's adapter all take these steps. `choose.rs` takes
//! the best candidate of a selector's path. This room names no selector and no learner, touches no file and no
//! terminal, and may use everything else in the crate.

pub(crate) mod choose;
pub(crate) mod prepare;
