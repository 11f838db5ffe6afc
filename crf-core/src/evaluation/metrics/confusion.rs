use std::collections::HashMap;

use crate::data::dataset::Dataset;
use crate::data::graph::offsets;
use crate::evaluation::evaluate::Evaluation;
use crate::evaluation::metrics::ratio;

/// Confusion matrix: the number of positions by true and predicted label.
///
/// With several kinds of node, the labels of one kind follow those of the kind before. True labels
/// that the model does not have are counted together, behind all others. Only pairs that occur take
/// memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confusion {
    pairs: HashMap<(usize, usize), u64>, // true, predicted
    truth: Vec<u64>,                     // [labels + 1]
    predicted: Vec<u64>,                 // [labels]
}

impl Confusion {
    /// Counts all labelled positions.
    pub fn of(evaluation: &Evaluation) -> Self {
        let data = &evaluation.data;
        let starts = offsets(data.schema().kinds().iter().map(|kind| kind.labels.len()));
        let n_labels = starts[starts.len() - 1];
        let mut pairs = HashMap::new();
        let (mut all_true, mut all_predicted) = (vec![0; n_labels + 1], vec![0; n_labels]);
        for i in 0..data.len() {
            let (range, shape) = (data.range(i), data.shape(i));
            let labels = data.labels()[range.clone()].iter().zip(&evaluation.predicted[range]);
            for (n, (truth, &predicted)) in labels.enumerate() {
                if let Some(truth) = *truth {
                    let start = starts[shape.kind(n) as usize];
                    let truth = if Dataset::is_foreign(truth) { n_labels } else { start + truth as usize };
                    let predicted = start + predicted as usize;
                    *pairs.entry((truth, predicted)).or_insert(0) += 1;
                    all_true[truth] += 1;
                    all_predicted[predicted] += 1;
                }
            }
        }
        Confusion { pairs, truth: all_true, predicted: all_predicted }
    }

    /// Number of labels.
    pub fn n_labels(&self) -> usize {
        self.predicted.len()
    }

    /// Number of positions with a true label that the model does not have.
    pub fn foreign(&self) -> u64 {
        self.truth[self.n_labels()]
    }

    /// Number of positions with true label `truth` and predicted label `predicted`.
    pub fn count(&self, truth: usize, predicted: usize) -> u64 {
        self.pairs.get(&(truth, predicted)).copied().unwrap_or(0)
    }

    /// Number of positions with true label `y`.
    pub fn truth(&self, y: usize) -> u64 {
        self.truth[y]
    }

    /// Number of positions with predicted label `y`.
    pub fn predicted(&self, y: usize) -> u64 {
        self.predicted[y]
    }

    /// Precision: the fraction of positions predicted as label `y` whose true label is `y`.
    pub fn precision(&self, y: usize) -> f64 {
        ratio(self.count(y, y) as f64, self.predicted(y) as f64)
    }

    /// Recall: the fraction of positions with true label `y` that are predicted as `y`.
    pub fn recall(&self, y: usize) -> f64 {
        ratio(self.count(y, y) as f64, self.truth(y) as f64)
    }

    /// F1 score: the harmonic mean of precision and recall.
    pub fn f1(&self, y: usize) -> f64 {
        ratio(2.0 * self.count(y, y) as f64, (self.truth(y) + self.predicted(y)) as f64)
    }
}
