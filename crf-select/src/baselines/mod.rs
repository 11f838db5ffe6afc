//! Selectors to compare with: all features, those of LogitBoost, and the learner that keeps a
//! selector's weights.

pub(crate) mod as_selected;
pub(crate) mod logit_boost;
pub(crate) mod none;
