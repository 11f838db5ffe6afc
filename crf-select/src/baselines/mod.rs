//! Baselines: all features, those of LogitBoost, and the learner that keeps a selector's weights.
//!
//! Start with `none.rs`, the smallest selector there is. The room uses `candidates/`, boosting from
//! crf-learn, and `l1-path` as a default.

pub(crate) mod as_selected;
pub(crate) mod logit_boost;
pub(crate) mod none;

pub use as_selected::AsSelected;
pub use logit_boost::LogitBoost;
pub use none::None;
