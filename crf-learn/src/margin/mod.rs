//! Margin learners (plugins): perceptron, passive-aggressive, AROW, and four solvers of the
//! structured SVM.
//!
//! All of them share one decoder (`decoder.rs`): argmax_y w·F(x, y) + s·Δ(y, y_i), with the loss Δ
//! as an edit of the potentials between `fill` and `decode`. s = 0 gives the prediction, s = 1 the
//! labelling that violates the margin most, and with it the hinge loss. All sequences are decoded
//! on all cores, or one at a time between changes of the weights. The loop around the rounds of
//! every learner is `training_loop.rs`; it also does early stopping. The room uses `scoring`,
//! `objectives` (labels only) and `training`.
//!
//! Online learners change few weights at a time. [`OnlineRule`](online::OnlineRule) is all that
//! distinguishes them: it decodes a sequence and moves the weights, with a step per weight if it
//! wants one. `Scorer::shift` moves weights in place, and the average of all weights is a second
//! vector that is touched only where a weight changes (`averaged_weights.rs`).
//!
//! Structured SVMs. The dual problem is stored as labellings with their shares, not as vectors
//! (`ssvm/dual.rs`): a step moves a share between two labellings of a sequence, its slope is a
//! difference of two scores, its length follows from the features in which they differ, and nothing
//! else changes. Frank-Wolfe takes such a step right after each decoding; the n-slack solver takes
//! them to convergence between decodings of all sequences. A vector for each sequence, as in the
//! paper, would be n·d numbers.
//!
//! Subgradient steps of 1/(λt) have a dual too: the weights are a scaled sum of differences, of
//! which no sequence has more than C, a feasible point of the dual problem. So every solver has a
//! duality gap and stops on it. The gap is a certificate where the inference bounds the score of
//! its best labelling (`Decoded::upper`); a warning says where it does not.
//!
//! Quadratic programs are solved by pairs of variables as in SMO (`ssvm/simplex_qp.rs`): they grow
//! by one plane at a time, start where the last solution ended, and need a precision that follows
//! the gap.
//!
//! Start with `perceptron.rs` and `online.rs`, then `decoder.rs`.

pub(crate) mod arow;
pub(crate) mod averaged_weights;
pub(crate) mod decoder;
pub(crate) mod loss;
pub(crate) mod online;
pub(crate) mod passive_aggressive;
pub(crate) mod perceptron;
pub(crate) mod ssvm;
pub(crate) mod ssvm_frank_wolfe;
pub(crate) mod ssvm_n_slack;
pub(crate) mod ssvm_one_slack;
pub(crate) mod ssvm_subgradient;
pub(crate) mod training_loop;

pub use arow::Arow;
pub use loss::{Loss, Margin};
pub use passive_aggressive::{PassiveAggressive, Slack};
pub use perceptron::Perceptron;
pub use ssvm::Ssvm;
pub use ssvm_frank_wolfe::SsvmFrankWolfe;
pub use ssvm_n_slack::SsvmNSlack;
pub use ssvm_one_slack::SsvmOneSlack;
pub use ssvm_subgradient::SsvmSubgradient;
