use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Label;
use crate::data::dataset::Dataset;
use crate::data::schema::Schema;
use crate::error::{Error, Result};
use crate::evaluation::context::EvaluationContext;
use crate::evaluation::metric::Metric;
use crate::evaluation::metrics::{Confusion, ratio};

/// Fraction of (true, predicted) pairs that satisfy a predicate.
fn fraction(pairs: impl Iterator<Item = (Label, Label)>, holds: fn(&Label, &Label) -> bool) -> f64 {
    let mut holding = 0.0;
    let mut all = 0.0;
    for (truth, label) in pairs {
        all += 1.0;
        holding += f64::from(holds(&truth, &label));
    }
    ratio(holding, all)
}

metric!(
    /// Accuracy: the fraction of positions with the right label.
    Accuracy, "accuracy", "accuracy", higher = true, |context| {
        Ok(fraction(context.pairs(), Label::eq))
    }
);

metric!(
    /// Accuracy of Viterbi decoding: the fraction of positions with the right label if the most
    /// likely labelling of each sequence as a whole is predicted. Compare it with `accuracy` if
    /// that uses another decoding.
    ViterbiAccuracy, "viterbi-accuracy", "viterbi_accuracy", higher = true, |context| {
        Ok(fraction(context.pairs_with(context.viterbi()?), Label::eq))
    }
);

metric!(
    /// Error rate: the fraction of positions with a wrong label.
    ErrorRate, "error", "error", higher = false, |context| {
        Ok(fraction(context.pairs(), Label::ne))
    }
);

metric!(
    /// Mean accuracy per sequence: the fraction of positions with the right label in each sequence,
    /// averaged over the sequences. Short sequences count as much as long ones.
    MeanAccuracy, "mean-accuracy", "mean_accuracy", higher = true, |context| {
        let mut sum = 0.0;
        let mut n = 0.0;
        for i in 0..context.data.len() {
            let range = context.data.range(i);
            let pairs = context.data.labels()[range.clone()].iter().zip(&context.predicted[range]);
            let mut right = 0.0;
            let mut all = 0.0;
            for (truth, predicted) in pairs.filter_map(|(truth, predicted)| Some((truth.as_ref()?, predicted))) {
                all += 1.0;
                right += f64::from(truth == predicted);
            }
            if all > 0.0 {
                sum += right / all;
                n += 1.0;
            }
        }
        Ok(ratio(sum, n))
    }
);

metric!(
    /// Sequence accuracy: the fraction of sequences without a wrong label. Sequences without a
    /// known label do not count.
    SequenceAccuracy, "sequence-accuracy", "sequence_accuracy", higher = true, |context| {
        let mut clean = 0.0;
        let mut all = 0.0;
        for i in 0..context.data.len() {
            let range = context.data.range(i);
            let pairs = context.data.labels()[range.clone()].iter().zip(&context.predicted[range]);
            let mut known = pairs.filter_map(|(truth, predicted)| Some((truth.as_ref()?, predicted))).peekable();
            if known.peek().is_some() {
                all += 1.0;
                clean += f64::from(known.all(|(truth, predicted)| truth == predicted));
            }
        }
        Ok(ratio(clean, all))
    }
);

metric!(
    /// Macro F1: the mean F1 score of all labels that occur as true or predicted label.
    ///
    /// A true label that the model does not have counts with an F1 of 0.
    MacroF1, "macro-f1", "macro_f1", higher = true, |context| {
        let confusion = Confusion::of(context);
        let present = (0..confusion.n_labels()).filter(|&y| confusion.truth(y) + confusion.predicted(y) > 0);
        let scores: Vec<f64> = present.map(|y| confusion.f1(y)).collect();
        let truth = context.pairs().map(|pair| pair.0);
        let foreign: HashSet<Label> = truth.filter(|&y| Dataset::is_foreign(y)).collect();
        Ok(ratio(scores.iter().sum(), (scores.len() + foreign.len()) as f64))
    }
);

/// Score of one label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Quality {
    /// Fraction of the positions predicted as the label that have it.
    Precision,
    /// Fraction of the positions with the label that are predicted as it.
    Recall,
    /// Harmonic mean of precision and recall.
    F1,
}

/// Precision, recall or F1 of one label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfLabel {
    /// Name of the label.
    pub label: String,
    /// Score to compute.
    pub quality: Quality,
}

impl OfLabel {
    /// Index of the label among those of all kinds of node.
    fn number(&self, schema: &Schema) -> Result<usize> {
        let mut names = schema.kinds().iter().flat_map(|kind| kind.labels.names().iter());
        let label = names.clone().position(|name| name == self.label);
        label.ok_or_else(|| Error::unknown("label", &self.label, names.by_ref()))
    }
}

crate::plugin!(
    "metric",
    OfLabel,
    "of-label",
    example = r#"
label = "rain"
quality = "recall"
"#
);

#[typetag::serde(name = "of-label")]
impl Metric for OfLabel {
    fn name(&self) -> String {
        let quality = match self.quality {
            Quality::Precision => "precision",
            Quality::Recall => "recall",
            Quality::F1 => "f1",
        };
        format!("{quality}({})", self.label)
    }

    fn higher_is_better(&self) -> bool {
        true
    }

    fn check_labels(&self, schema: &Schema) -> Result<()> {
        self.number(schema).map(|_| ())
    }

    fn measure(&self, context: &EvaluationContext<'_>) -> Result<f64> {
        let label = self.number(context.data.schema())?;
        let confusion = Confusion::of(context);
        Ok(match self.quality {
            Quality::Precision => confusion.precision(label),
            Quality::Recall => confusion.recall(label),
            Quality::F1 => confusion.f1(label),
        })
    }
}

/// Error rate on one of several equal parts of the sequences, such as the domains of the source
/// `domains`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorInPart {
    /// Number of the part, counted from 1.
    pub part: usize,
    /// Number of parts, which must be equal.
    pub of: usize,
}

crate::plugin!(
    "metric",
    ErrorInPart,
    "error-in-part",
    example = "
part = 1
of = 1
"
);

#[typetag::serde(name = "error-in-part")]
impl Metric for ErrorInPart {
    fn name(&self) -> String {
        format!("error({} of {})", self.part, self.of)
    }

    fn higher_is_better(&self) -> bool {
        false
    }

    fn measure(&self, context: &EvaluationContext<'_>) -> Result<f64> {
        let mut wrong = 0.0;
        let mut all = 0.0;
        for i in context.data.part(self.part, self.of)? {
            let range = context.data.range(i);
            let pairs = context.data.labels()[range.clone()].iter().zip(&context.predicted[range]);
            for (truth, predicted) in
                pairs.filter_map(|(truth, predicted)| Some((truth.as_ref()?, predicted)))
            {
                all += 1.0;
                wrong += f64::from(truth != predicted);
            }
        }
        Ok(ratio(wrong, all))
    }
}
