//! Boosting (plugins): learners that add weak learners in rounds.
//!
//! Boosters read the observation functions of state features as attributes (`trees/attributes.rs`):
//! numbers cut into bins, and functions that exclude each other as the values of one symbol. A
//! position is then a sparse row of bins without the default ones, stored by position for walking
//! and by attribute for histograms: text, symbols and sensors are one case. The feature list says
//! what may be asked: with a transition feature, trees ask for the previous label, and relations
//! enter the pool of virtual evidence boosting; without, the same learners classify single
//! positions.
//!
//! Gradient tree boosting. A tree is fitted to cells (position, previous label) with slope g and
//! weight h; leaves are G/(H + λ). Newton steps and the means of the poster differ in h, likelihood
//! and pseudo-likelihoods differ in the cells. The cells of a node at one position are summed
//! first, so only the question about the previous label looks at each of them, and a level costs
//! one pass whatever its number of nodes. Of the L² pairs of labels at a position nearly all have
//! next to no probability, and are omitted. Curvatures count at least a quarter of their slopes:
//! the true pair starts with probability 1/L², where p(1 − p) says nothing about p after the step.
//! `Tree::walk` carries the previous labels as a slice that questions about them partition in
//! place; a value that holds for all of them goes to the node potentials. A recurrent sliding
//! window is a gradient that does not look ahead and a beam of one label, so it needs no decoder of
//! its own.
//!
//! Stumps. A weak learner needs Σ w z c and Σ w c of each outcome (Liao et al. 2007, eq. 9), where
//! c is 1 for an attribute and a λ message for a neighbour: neighbours are counted as symbols are.
//! So a boosted field is additive: scores by bin, and a table for each relation
//! (`additive_model.rs`). What is learnt from neighbours is added by every edge of the relation, so
//! it is divided by their number (see `node_scores.rs`). Boosted random fields replay their rounds
//! when potentials are computed, and their edges tie nothing, so no inference has to know of them.
//! Boosting as a source of features is a selector: LogitBoost chooses stumps, and the learner of
//! the method trains them.
//!
//! Arrows: `trees` ← `weak_learner` ← `node_scores` ← `candidate_pool` ← learners; the room uses
//! `objectives` and `training`. Start with `rounds.rs`, the loop, then `logit_boost.rs` or
//! `gradient_tree_boosting.rs`.

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

pub use self::trees::*;
pub use additive_model::AdditiveModel;
pub use boosted_hmm::BoostedHmm;
pub use boosted_random_field::BoostedRandomField;
pub use boosted_random_field::model::BrfModel;
pub use gradient_tree_boosting::loss::Leaf;
pub use gradient_tree_boosting::model::TreeModel;
pub use gradient_tree_boosting::{Gradient, GradientTreeBoosting};
pub use logit_boost::LogitBoost;
pub use virtual_evidence_boosting::VirtualEvidenceBoosting;
