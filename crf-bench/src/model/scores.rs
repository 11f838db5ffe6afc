//! The scores of a model on labelled data.

use std::sync::Arc;

use crf_core::metrics::{Accuracy, ChunkF1, Confusion, LogLikelihood, MacroF1, SequenceAccuracy};
use crf_core::{Dataset, Decode, Error, EvaluationContext, Metric as _, Result};
use serde::Serialize;

use crate::model::calibration::Calibration;
use crate::model::file::ModelFile;

/// The scores of a model on labelled data.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scores {
    /// The fraction of positions with the right label.
    pub accuracy: f64,
    /// The fraction of sequences without a wrong label.
    pub sequence_accuracy: f64,
    /// F1 of whole chunks, counted as by conlleval; `None` if the labels make no chunks.
    pub chunk_f1: Option<f64>,
    /// The mean F1 of the labels that occur.
    pub macro_f1: f64,
    /// Number of labelled positions, which were compared.
    pub positions: usize,
    /// Number of sequences.
    pub sequences: usize,
    /// Number of positions with a true label that the model does not know; each is an error.
    pub unknown_labels: usize,
    /// log p(y | x) of all sequences; −∞ with unknown labels. `None` if the inference finds only
    /// labellings.
    pub log_likelihood: Option<f64>,
    /// A remark on the log-likelihood and the calibration, if the training fitted no probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
    /// The scores of each label.
    pub labels: Vec<LabelScores>,
    /// The calibration of the predicted labels' probabilities, if the inference has probabilities.
    pub calibration: Option<Calibration>,
}

/// The scores of one label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelScores {
    /// The name of the label.
    pub label: String,
    /// The fraction of positions predicted to have the label that have it.
    pub precision: f64,
    /// The fraction of positions with the label that were predicted to have it.
    pub recall: f64,
    /// The harmonic mean of both.
    pub f1: f64,
    /// Number of positions with the label.
    pub truth: u64,
    /// Number of positions predicted to have the label.
    pub predicted: u64,
}

impl Scores {
    /// Labels data, which must be read with the model's schema, and compares with the true labels.
    pub fn new(file: &ModelFile, data: Arc<Dataset>, decode: Decode) -> Result<Self> {
        let encoded = file.contents.features.encode(data.clone())?;
        let evaluation =
            EvaluationContext::new(&*file.contents.model, &encoded, &*file.settings.inference, decode)?;
        let positions = evaluation.pairs().count();
        if positions == 0 {
            return Err(Error::data(
                "the data have no label at any position, so there is nothing to compare",
            ));
        }
        let calibration = |confidence: Vec<f64>| {
            let truth = data.labels().iter().zip(&evaluation.predicted).zip(confidence);
            Calibration::new(10, truth.filter_map(|((truth, y), p)| truth.map(|truth| (p, truth == *y))))
        };
        let scored = evaluation.probabilities.is_some();
        let learner = file.training().ok().map(|training| training.method.learner);
        let remark = learner.filter(|learner| !learner.fits_probabilities()).map(|learner| {
            format!(
                "`{}` fits no probabilities: its log-likelihood and calibration say little about its labels",
                learner.typetag_name()
            )
        });
        let confusion = Confusion::of(&evaluation);
        let schema = data.schema();
        let names = schema.kinds().iter().flat_map(|kind| kind.labels.names().iter());
        let has_chunks = ChunkF1 {}.check_labels(schema).is_ok();
        let label = |(y, name): (usize, &str)| LabelScores {
            label: name.to_owned(),
            precision: confusion.precision(y),
            recall: confusion.recall(y),
            f1: confusion.f1(y),
            truth: confusion.truth(y),
            predicted: confusion.predicted(y),
        };
        Ok(Scores {
            accuracy: Accuracy {}.measure(&evaluation)?,
            sequence_accuracy: SequenceAccuracy {}.measure(&evaluation)?,
            chunk_f1: has_chunks.then(|| ChunkF1 {}.measure(&evaluation)).transpose()?,
            macro_f1: MacroF1 {}.measure(&evaluation)?,
            positions,
            sequences: data.len(),
            unknown_labels: data.n_foreign(),
            log_likelihood: scored.then(|| LogLikelihood {}.measure(&evaluation)).transpose()?,
            remark: remark.filter(|_| scored),
            labels: names.enumerate().map(label).collect(),
            calibration: scored.then(|| evaluation.confidence().map(calibration)).transpose()?,
        })
    }

    /// The scores of the whole data, with their names.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let fraction = |value: f64| format!("{value:.6}");
        let mut facts = vec![
            ("accuracy", fraction(self.accuracy)),
            ("sequence_accuracy", fraction(self.sequence_accuracy)),
        ];
        facts.extend(self.chunk_f1.map(|value| ("chunk_f1", fraction(value))));
        facts.extend([
            ("macro_f1", fraction(self.macro_f1)),
            ("positions", self.positions.to_string()),
            ("sequences", self.sequences.to_string()),
            ("unknown_labels", self.unknown_labels.to_string()),
        ]);
        facts.extend(self.log_likelihood.map(|value| ("log_likelihood", format!("{value:.4}"))));
        let error = self.calibration.as_ref().map(|calibration| calibration.expected_calibration_error);
        facts.extend(error.map(|error| ("expected_calibration_error", fraction(error))));
        facts.extend(self.remark.iter().map(|remark| ("remark", remark.clone())));
        facts
    }
}
