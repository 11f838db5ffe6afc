//! Traits of training: `Learner` and `Selector`, with their problem, context, trace and candidates.
//!
//! A learner fits a model to a `Problem`; a selector proposes ever larger feature sets for one.
//! Both report to an observer through a `FitContext`, which also holds the seed of all randomness.
//! The algorithms are in `crf-learn` and `crf-select`; the steps from raw data to a problem are in
//! `pipeline`.
//!
//! This room may use `models`, and what that uses. Start with `learner.rs`.

pub(crate) mod learner;
pub(crate) mod selector;
