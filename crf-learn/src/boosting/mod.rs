//! Learners that add weak learners in rounds.
//!
//! Start with `rounds.rs`, the loop. `trees` grows regression trees, `weak_learner.rs` fits the stumps
//! of boosted random fields and virtual evidence boosting.

pub(crate) mod additive_model;
pub(crate) mod boosted_hmm;
pub(crate) mod boosted_random_field;
pub(crate) mod candidate_pool;
pub(crate) mod gradient_tree_boosting;
pub(crate) mod logit_boost;
pub(crate) mod node_scores;
pub(crate) mod rounds;
pub(crate) mod trees;
pub(crate) mod virtual_evidence_boosting;
pub(crate) mod weak_learner;
