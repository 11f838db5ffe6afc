use serde::Serialize;

use crate::data::dataset::Dataset;
use crate::data::graph::offsets;
use crate::evaluation::evaluate::Evaluation;
use crate::evaluation::metrics::ratio;

/// Confusion matrix: the number of positions by true and predicted label.
///
/// With several kinds of node, the labels of one kind follow those of the kind before. The last row
/// counts true labels that the model does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Confusion {
    counts: Vec<Vec<u64>>, // [true][predicted]
}

impl Confusion {
    /// Counts all labelled positions.
    pub fn of(evaluation: &Evaluation) -> Self {
        let data = &evaluation.data;
        let starts = offsets(data.schema().kinds().iter().map(|kind| kind.labels.len()));
        let n_labels = starts[starts.len() - 1];
        let mut counts = vec![vec![0; n_labels]; n_labels + 1];
        for i in 0..data.len() {
            let (range, shape) = (data.range(i), data.shape(i));
            let pairs = data.labels()[range.clone()].iter().zip(&evaluation.predicted[range]);
            for (n, (truth, &predicted)) in pairs.enumerate() {
                if let Some(truth) = *truth {
                    let start = starts[shape.kind(n) as usize];
                    let row = if Dataset::is_foreign(truth) { n_labels } else { start + truth as usize };
                    counts[row][start + predicted as usize] += 1;
                }
            }
        }
        Confusion { counts }
    }

    /// Number of labels.
    pub fn n_labels(&self) -> usize {
        self.counts.len() - 1
    }

    /// Number of positions with a true label that the model does not have.
    pub fn foreign(&self) -> u64 {
        self.truth(self.n_labels())
    }

    /// Number of positions with true label `truth` and predicted label `predicted`.
    pub fn count(&self, truth: usize, predicted: usize) -> u64 {
        self.counts[truth][predicted]
    }

    /// Number of positions with true label `y`.
    pub fn truth(&self, y: usize) -> u64 {
        self.counts[y].iter().sum()
    }

    /// Number of positions with predicted label `y`.
    pub fn predicted(&self, y: usize) -> u64 {
        self.counts.iter().map(|row| row[y]).sum()
    }

    /// Precision: the fraction of positions predicted as label `y` whose true label is `y`.
    pub fn precision(&self, y: usize) -> f64 {
        ratio(self.counts[y][y] as f64, self.predicted(y) as f64)
    }

    /// Recall: the fraction of positions with true label `y` that are predicted as `y`.
    pub fn recall(&self, y: usize) -> f64 {
        ratio(self.counts[y][y] as f64, self.truth(y) as f64)
    }

    /// F1 score: the harmonic mean of precision and recall.
    pub fn f1(&self, y: usize) -> f64 {
        ratio(2.0 * self.counts[y][y] as f64, (self.truth(y) + self.predicted(y)) as f64)
    }
}
