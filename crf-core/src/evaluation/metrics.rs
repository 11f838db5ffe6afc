//! The metrics. A ratio of nothing to nothing is 0 everywhere, as conlleval has it.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Label;
use crate::data::dataset::Dataset;
use crate::data::graph::offsets;
use crate::error::{Error, Result};
use crate::evaluation::evaluate::Evaluation;
use crate::evaluation::metric::{Metric, Needs};
pub use crate::evaluation::training_metric::{Quantity, Training};
use crate::inference::answers::Bound;

/// `part / whole`, and 0 when there is nothing to divide by.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

/// The share of pairs of labels of which something is so.
fn share(pairs: impl Iterator<Item = (Label, Label)>, is_so: fn(&Label, &Label) -> bool) -> f64 {
    let (mut so, mut all) = (0.0, 0.0);
    for (truth, label) in pairs {
        all += 1.0;
        so += f64::from(is_so(&truth, &label));
    }
    ratio(so, all)
}

macro_rules! metric {
    ($(#[$doc:meta])* $type:ident, $tag:literal, $name:literal, higher = $higher:literal, needs = $needs:ident, $measure:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $type {}

        crate::plugin!("metric", $type, $tag);

        #[typetag::serde(name = $tag)]
        impl Metric for $type {
            fn name(&self) -> String {
                $name.into()
            }
            fn higher_is_better(&self) -> bool {
                $higher
            }
            fn needs(&self) -> Needs {
                Needs::$needs
            }
            fn measure(&self, of: &Evaluation) -> Result<f64> {
                let measure: fn(&Evaluation) -> Result<f64> = $measure;
                measure(of)
            }
        }
    };
}

metric!(
    /// The fraction of positions with the right label.
    Accuracy, "accuracy", "accuracy", higher = true, needs = Labels, |of| {
        Ok(share(of.pairs(), Label::eq))
    }
);

metric!(
    /// The fraction of positions with the right label, when labels are those that are most likely as a whole. It stands beside
    /// `accuracy` where that is of other answers.
    ViterbiAccuracy, "viterbi-accuracy", "viterbi_accuracy", higher = true, needs = Viterbi, |of| {
        let none = "the labels that are most likely as a whole were not looked for";
        let labels = of.viterbi.as_ref().ok_or_else(|| Error::data(none))?;
        Ok(share(of.pairs_with(labels), Label::eq))
    }
);

metric!(
    /// The fraction of positions with a wrong label.
    ErrorRate, "error", "error", higher = false, needs = Labels, |of| {
        Ok(share(of.pairs(), Label::ne))
    }
);

metric!(
    /// The fraction of positions with the right label in each sequence, in the mean over the sequences: a short one counts as
    /// much as a long one.
    MeanAccuracy, "mean-accuracy", "mean_accuracy", higher = true, needs = Labels, |of| {
        let (mut sum, mut n) = (0.0, 0.0);
        for i in 0..of.data.len() {
            let pairs = of.data.labels()[of.data.range(i)].iter().zip(&of.predicted[of.data.range(i)]);
            let (mut right, mut all) = (0.0, 0.0);
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
    /// The fraction of sequences without a single wrong label.
    SequenceAccuracy, "sequence-accuracy", "sequence_accuracy", higher = true, needs = Labels, |of| {
        let clean = |i: usize| {
            let range = of.data.range(i);
            let mut pairs = of.data.labels()[range.clone()].iter().zip(&of.predicted[range]);
            pairs.all(|(truth, predicted)| truth.is_none_or(|truth| truth == *predicted))
        };
        Ok(ratio((0..of.data.len()).filter(|&i| clean(i)).count() as f64, of.data.len() as f64))
    }
);

metric!(
    /// The sum of log p(y | x) over all sequences.
    LogLikelihood, "log-likelihood", "log_likelihood", higher = true, needs = Probabilities, |of| {
        Ok(of.probabilities()?.log_likelihood.iter().sum())
    }
);

metric!(
    /// How far marginals are from those of the reference inference: the mean over positions of ½ Σ_y |q(y) − p(y)|, the
    /// largest difference that the probability of any set of labels has.
    MarginalError, "marginal-error", "marginal_error", higher = false, needs = Reference, |of| {
        let (ours, theirs) = of.compared()?;
        let differences = ours.marginals.iter().zip(&theirs.marginals).map(|(q, p)| (q - p).abs());
        Ok(ratio(0.5 * differences.sum::<f64>(), of.predicted.len() as f64))
    }
);

metric!(
    /// log Z minus that of the reference inference, over the number of positions: below 0 it is too small.
    LogZError, "log-z-error", "log_z_error", higher = false, needs = Reference, |of| {
        let (ours, theirs) = of.compared()?;
        let differences = ours.log_z.iter().zip(&theirs.log_z).map(|(q, p)| q.value - p.value);
        Ok(ratio(differences.sum(), of.predicted.len() as f64))
    }
);

metric!(
    /// The fraction of sequences whose log Z is not what the inference says of it: exact, a lower or an upper bound of the
    /// reference's. An estimate promises nothing.
    BrokenBounds, "broken-bounds", "broken_bounds", higher = false, needs = Reference, |of| {
        let (ours, theirs) = of.compared()?;
        let broken = ours.log_z.iter().zip(&theirs.log_z).filter(|(q, p)| {
            let (error, rounding) = (q.value - p.value, 1e-9 * (1.0 + p.value.abs()));
            match q.bound {
                Bound::Exact => error.abs() > rounding,
                Bound::Lower => error > rounding,
                Bound::Upper => error < -rounding,
                Bound::Estimate => false,
            }
        });
        Ok(ratio(broken.count() as f64, of.data.len() as f64))
    }
);

metric!(
    /// The mean F1 of all labels that occur among the true or the predicted ones.
    ///
    /// A true label that the model does not have occurs too, with an F1 of 0.
    MacroF1, "macro-f1", "macro_f1", higher = true, needs = Labels, |of| {
        let confusion = Confusion::of(of);
        let present = (0..confusion.n_labels()).filter(|&y| confusion.truth(y) + confusion.predicted(y) > 0);
        let scores: Vec<f64> = present.map(|y| confusion.f1(y)).collect();
        let foreign: HashSet<Label> = of.pairs().map(|pair| pair.0).filter(|&y| Dataset::is_foreign(y)).collect();
        Ok(ratio(scores.iter().sum(), (scores.len() + foreign.len()) as f64))
    }
);

metric!(
    /// F1 of whole chunks, as conlleval counts them in BIO, IOB1 and BIOES labels.
    ///
    /// Positions whose true label is unknown are outside of every chunk, true or predicted.
    ChunkF1, "chunk-f1", "chunk_f1", higher = true, needs = Labels, |of| {
        let (mut right, mut found, mut wanted) = (0.0, 0.0, 0.0);
        for i in 0..of.data.len() {
            let (range, shape) = (of.data.range(i), of.data.shape(i));
            let known = &of.data.labels()[range.clone()];
            let name = |n: usize, label: Label| of.data.label_name(shape.kind(n), label);
            let truth = chunks(known.iter().enumerate().map(|(n, y)| y.map_or("O", |y| name(n, y))));
            let guess = of.predicted[range].iter().enumerate();
            let guess = chunks(guess.map(|(n, &y)| if known[n].is_some() { name(n, y) } else { "O" }));
            right += guess.iter().filter(|chunk| truth.contains(chunk)).count() as f64;
            found += guess.len() as f64;
            wanted += truth.len() as f64;
        }
        Ok(ratio(2.0 * right, found + wanted))
    }
);

/// Which quality of one label is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Quality {
    /// How many of the predicted positions are right.
    Precision,
    /// How many of the true positions are found.
    Recall,
    /// The harmonic mean of both.
    F1,
}

/// A number of the model itself, by the name that `crf inspect` shows: `y=rain ∧ x`, `deviation of x given y=rain`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name.
    pub name: String,
}

crate::plugin!("metric", Parameter, "parameter", example = r#"name = "y=rain""#);

#[typetag::serde(name = "parameter")]
impl Metric for Parameter {
    fn name(&self) -> String {
        self.name.replace('-', "_")
    }

    fn higher_is_better(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        Needs::Parameters
    }

    fn measure(&self, of: &Evaluation) -> Result<f64> {
        let found = of.parameters.iter().find(|(name, _)| *name == self.name);
        let names = of.parameters.iter().map(|(name, _)| name.as_str());
        found.map(|(_, value)| *value).ok_or_else(|| Error::unknown("parameter", &self.name, names))
    }
}

/// Precision, recall or F1 of one label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfLabel {
    /// The label's name.
    pub label: String,
    /// What is measured.
    pub quality: Quality,
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

    fn measure(&self, of: &Evaluation) -> Result<f64> {
        let names = of.data.schema().kinds().iter().flat_map(|kind| kind.labels.names().iter());
        let label = names.clone().position(|name| name == self.label);
        let label = label.ok_or_else(|| Error::unknown("label", &self.label, names))?;
        let confusion = Confusion::of(of);
        Ok(match self.quality {
            Quality::Precision => confusion.precision(label),
            Quality::Recall => confusion.recall(label),
            Quality::F1 => confusion.f1(label),
        })
    }
}

/// The fraction of positions with a wrong label in one of several equal parts of the sequences, such as the domains of
/// the source `domains`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorInPart {
    /// Which part, counted from 1.
    pub part: usize,
    /// How many parts there are; they must be equal.
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

    fn measure(&self, of: &Evaluation) -> Result<f64> {
        let (mut wrong, mut all) = (0.0, 0.0);
        for i in of.data.part(self.part, self.of)? {
            let range = of.data.range(i);
            let pairs = of.data.labels()[range.clone()].iter().zip(&of.predicted[range]);
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

/// How many features the model has, of those whose names have all of some parts and none of others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FeatureCount {
    /// What a name must have in it, such as `speed`, or `y'` in those of transition features.
    pub with: Vec<String>,
    /// What it must not have in it.
    pub without: Vec<String>,
}

crate::plugin!(
    "metric",
    FeatureCount,
    "features",
    example = r#"
with = ["y'"]
without = ["speed"]
"#
);

#[typetag::serde(name = "features")]
impl Metric for FeatureCount {
    fn name(&self) -> String {
        let without = self.without.iter().map(|part| format!("not {part}"));
        let parts: Vec<String> = self.with.iter().cloned().chain(without).collect();
        if parts.is_empty() { "features".into() } else { format!("features({})", parts.join(", ")) }
    }

    fn higher_is_better(&self) -> bool {
        false
    }

    fn measure(&self, of: &Evaluation) -> Result<f64> {
        let none = || Error::data("the model is not log-linear, so it has no features to be counted");
        let map = of.map.as_ref().ok_or_else(none)?;
        let has = |name: &str, part: &String| name.contains(part.as_str());
        let names = (0..map.len()).map(|k| map.name(k));
        let counted = names.filter(|name| {
            self.with.iter().all(|part| has(name, part)) && !self.without.iter().any(|part| has(name, part))
        });
        Ok(counted.count() as f64)
    }
}

/// How often each true label was given each predicted one.
///
/// Labels are numbered through: when there are several kinds of node, those of one come after those of the other.
/// The last row counts true labels that the model does not have.
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

    /// How many labels there are.
    pub fn n_labels(&self) -> usize {
        self.counts.len() - 1
    }

    /// How many positions have a true label that the model does not have.
    pub fn foreign(&self) -> u64 {
        self.truth(self.n_labels())
    }

    /// How many positions of true label `truth` were given label `predicted`.
    pub fn count(&self, truth: usize, predicted: usize) -> u64 {
        self.counts[truth][predicted]
    }

    /// How many positions have the true label `y`.
    pub fn truth(&self, y: usize) -> u64 {
        self.counts[y].iter().sum()
    }

    /// How many positions were given label `y`.
    pub fn predicted(&self, y: usize) -> u64 {
        self.counts.iter().map(|row| row[y]).sum()
    }

    /// The fraction of positions given label `y` that have it.
    pub fn precision(&self, y: usize) -> f64 {
        ratio(self.counts[y][y] as f64, self.predicted(y) as f64)
    }

    /// The fraction of positions that have label `y` which were given it.
    pub fn recall(&self, y: usize) -> f64 {
        ratio(self.counts[y][y] as f64, self.truth(y) as f64)
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(&self, y: usize) -> f64 {
        ratio(2.0 * self.counts[y][y] as f64, (self.truth(y) + self.predicted(y)) as f64)
    }
}

/// The chunks of one sequence: type, first position, last position.
///
/// The rules are those of conlleval (Tjong Kim Sang 2000): a chunk ends before B, S, O or another type and after E or S;
/// it starts at B or S, and at I or E after O, after E or S, or after another type.
pub fn chunks<'a>(labels: impl IntoIterator<Item = &'a str>) -> Vec<(&'a str, usize, usize)> {
    let mut chunks = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let mut before = ("O", "");
    let mut len = 0;
    for (t, label) in labels.into_iter().enumerate() {
        let now = label.split_once('-').unwrap_or((label, ""));
        let ends = matches!(before.0, "E" | "S") || matches!(now.0, "B" | "S" | "O") || now.1 != before.1;
        if ends && let Some((kind, start)) = open.take() {
            chunks.push((kind, start, t - 1));
        }
        if now.0 != "O" && open.is_none() {
            open = Some((now.1, t));
        }
        before = now;
        len = t + 1;
    }
    chunks.extend(open.map(|(kind, start)| (kind, start, len - 1)));
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_follow_conlleval() {
        let of = |text: &'static str| chunks(text.split(' '));
        assert_eq!(of("B-NP I-NP O B-VP"), [("NP", 0, 1), ("VP", 3, 3)]);
        assert_eq!(of("I-NP I-NP B-NP I-VP"), [("NP", 0, 1), ("NP", 2, 2), ("VP", 3, 3)]);
        assert_eq!(of("S-X B-X I-X E-X I-X"), [("X", 0, 0), ("X", 1, 3), ("X", 4, 4)]);
        assert_eq!(of("O O"), []);
    }
}
