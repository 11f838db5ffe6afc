use crf_core::Result;
use serde::{Deserialize, Serialize};

use crate::boosting::trees::Sum;

/// What a weak learner looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Question {
    /// At nothing: what all nodes of a kind have in common.
    Nothing {
        /// The kind.
        kind: u16,
    },
    /// At an attribute of the position: whether it is below a cut, or which symbol it is.
    Attribute {
        /// Its number.
        attribute: u32,
        /// Which cut, of a number.
        cut: Option<u32>,
    },
    /// At the labels of the neighbours by a relation.
    Relation {
        /// Its number.
        relation: u16,
        /// Whether it is for the heads of edges, which look at tails, or the other way round.
        head: bool,
    },
}

/// A weak learner: a value for each label at each outcome of what it looks at.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WeakLearner {
    pub(crate) looks: Question,
    /// By how much it lowers the weighted squared error.
    pub(crate) gain: f64,
    /// Outcome, then label.
    pub(crate) values: Vec<f64>,
}

impl WeakLearner {
    /// The weak learner whose values minimise the weighted squared error, given Σ w z c and Σ w c of each outcome and label.
    pub(crate) fn new(looks: Question, sums: &[Sum], n_labels: usize) -> Self {
        let mut values: Vec<f64> =
            sums.iter().map(|sum| if sum.h > LEAST { sum.g / sum.h } else { 0.0 }).collect();
        symmetrise(&mut values, n_labels);
        WeakLearner { looks, gain: worth(sums), values }
    }
}

/// Sums below this are rounding.
const LEAST: f64 = 1e-9;

/// By how much the best values lower the error: Σ (Σ w z c)² / Σ w c.
pub(crate) fn worth(sums: &[Sum]) -> f64 {
    sums.iter().map(|sum| if sum.h > LEAST { sum.g * sum.g / sum.h } else { 0.0 }).sum()
}

/// f_k ← (K − 1)/K · (f_k − mean of f), for each outcome (Friedman, Hastie & Tibshirani 2000, algorithm 6).
pub(crate) fn symmetrise(values: &mut [f64], n_labels: usize) {
    let n = n_labels as f64;
    for values in values.chunks_mut(n_labels) {
        let mean = values.iter().sum::<f64>() / n;
        values.iter_mut().for_each(|value| *value = (n - 1.0) / n * (*value - mean));
    }
}

/// Refuses what has no finite values.
pub(crate) fn finite(weak: WeakLearner, round: u32) -> Result<WeakLearner> {
    if weak.values.iter().all(|value| value.is_finite()) {
        return Ok(weak);
    }
    Err(crf_core::Error::NotFinite(format!("a value of the weak learner of round {round}")))
}
