use crf_core::Result;
use serde::{Deserialize, Serialize};

use crate::boosting::trees::Sum;

/// Question that a weak learner asks about a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Question {
    /// No question: all nodes of a kind have the same outcome.
    Nothing {
        /// Kind of the nodes.
        kind: u16,
    },
    /// Question about an attribute of the position: whether it is below a cut, or which symbol it
    /// is.
    Attribute {
        /// Index of the attribute.
        attribute: u32,
        /// Index of the cut, for a number.
        cut: Option<u32>,
    },
    /// Question about the labels of the neighbours by a relation.
    Relation {
        /// Index of the relation.
        relation: u16,
        /// True if heads are scored by the labels of tails, false for the other way round.
        head: bool,
    },
}

/// Weak learner: a value for each label at each outcome of its question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WeakLearner {
    pub(crate) question: Question,
    /// Decrease of the weighted squared error.
    pub(crate) gain: f64,
    /// Values: outcome, then label.
    pub(crate) values: Vec<f64>,
}

impl WeakLearner {
    /// Weak learner whose values minimise the weighted squared error, given Σ w z c and Σ w c of
    /// each outcome and label.
    pub(crate) fn new(question: Question, sums: &[Sum], n_labels: usize) -> Self {
        let mut values: Vec<f64> =
            sums.iter().map(|sum| if sum.h > ROUNDING { sum.g / sum.h } else { 0.0 }).collect();
        symmetrise(&mut values, n_labels);
        WeakLearner { question, gain: gain(sums), values }
    }
}

/// Maximum size of a sum that is rounding.
const ROUNDING: f64 = 1e-9;

/// Decrease of the error by the best values: Σ (Σ w z c)² / Σ w c.
pub(crate) fn gain(sums: &[Sum]) -> f64 {
    sums.iter().map(|sum| if sum.h > ROUNDING { sum.g * sum.g / sum.h } else { 0.0 }).sum()
}

/// Symmetrises values: f_k ← (K − 1)/K · (f_k − mean of f), for each outcome (Friedman, Hastie &
/// Tibshirani 2000, algorithm 6).
pub(crate) fn symmetrise(values: &mut [f64], n_labels: usize) {
    let n = n_labels as f64;
    for values in values.chunks_mut(n_labels) {
        let mean = values.iter().sum::<f64>() / n;
        values.iter_mut().for_each(|value| *value = (n - 1.0) / n * (*value - mean));
    }
}

/// Refuses a weak learner whose values are not finite.
pub(crate) fn finite(weak: WeakLearner, round: u32) -> Result<WeakLearner> {
    if weak.values.iter().all(|value| value.is_finite()) {
        return Ok(weak);
    }
    Err(crf_core::Error::NotFinite(format!("a value of the weak learner of round {round}")))
}
