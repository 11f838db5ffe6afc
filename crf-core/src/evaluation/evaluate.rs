use std::sync::Arc;

use crate::Label;
use crate::data::dataset::Dataset;
use crate::error::{Error, Result};
use crate::evaluation::predict::{Decode, for_each_sequence, marginals, most_likely, viterbi};
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::feature_map::FeatureMap;
use crate::inference::algorithm::Inference;
use crate::inference::answers::{Bound, LogZ};
use crate::inference::potentials::Potentials;
use crate::inference::scratch::Scratch;
use crate::learning::learner::{Problem, bind_under};
use crate::memory::require_memory;
use crate::models::constraints::Forbidden;
use crate::models::model::Model;

/// Evaluation: predictions for labelled data, from which every metric is computed.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// Data with their true labels.
    pub data: Arc<Dataset>,
    /// Predicted label of each position.
    pub predicted: Vec<Label>,
    /// Probabilities of labels; `None` if the inference finds labellings only.
    pub probabilities: Option<Probabilities>,
    /// Features of the model; `None` if it is not log-linear.
    pub map: Option<Arc<FeatureMap>>,
}

/// Probabilities of the labels of evaluated data.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Probabilities {
    /// Log-likelihood log p(y | x) of each sequence's known labels.
    pub log_likelihood: Vec<f64>,
    /// Log normaliser of each sequence, with its quality.
    pub log_z: Vec<LogZ>,
    /// Probability of each label, position by position; the shapes of the data give the offsets.
    pub marginals: Vec<f64>,
}

impl Evaluation {
    /// True and predicted label of every labelled position.
    pub fn pairs(&self) -> impl Iterator<Item = (Label, Label)> {
        self.pairs_with(&self.predicted)
    }

    /// True label of every labelled position, and its label in another labelling.
    pub fn pairs_with(&self, labels: &[Label]) -> impl Iterator<Item = (Label, Label)> {
        let pairs = self.data.labels().iter().zip(labels);
        pairs.filter_map(|(truth, &label)| Some(((*truth)?, label)))
    }

    /// Probabilities of labels, or an error that says why there are none.
    pub fn probabilities(&self) -> Result<&Probabilities> {
        let none = "the inference finds labellings only, so neither log Z nor marginals are known";
        self.probabilities.as_ref().ok_or_else(|| Error::data(none))
    }

    /// Probability of each position's predicted label.
    pub fn confidence(&self) -> Result<Vec<f64>> {
        let mut marginals = &self.probabilities()?.marginals[..];
        let mut confidence = Vec::with_capacity(self.predicted.len());
        for i in 0..self.data.len() {
            let (shape, predicted) = (self.data.shape(i), &self.predicted[self.data.range(i)]);
            confidence.extend(
                predicted.iter().enumerate().map(|(n, &y)| marginals[shape.node_offset(n) + y as usize]),
            );
            marginals = &marginals[shape.node_offset(shape.n_nodes())..];
        }
        Ok(confidence)
    }
}

/// Labels every sequence of an encoded dataset and scores its true labels, on all threads.
///
/// An inference that finds labellings only can decode sequences as a whole; then nothing is scored.
pub fn evaluate(
    model: &dyn Model,
    encoded: &EncodedDataset,
    inference: &dyn Inference,
    decode: Decode,
) -> Result<Evaluation> {
    evaluate_under(None, model, encoded, inference, decode)
}

impl Problem<'_> {
    /// [`evaluate`] by the problem's inference and under its constraints.
    pub fn evaluate(
        &self,
        model: &dyn Model,
        encoded: &EncodedDataset,
        decode: Decode,
    ) -> Result<Evaluation> {
        evaluate_under(self.forbidden, model, encoded, self.inference, decode)
    }
}

/// [`evaluate`] under constraints, if there are any.
pub(crate) fn evaluate_under(
    forbidden: Option<&Forbidden>,
    model: &dyn Model,
    encoded: &EncodedDataset,
    inference: &dyn Inference,
    decode: Decode,
) -> Result<Evaluation> {
    decode.check(inference)?;
    let bound = bind_under(forbidden, model, encoded)?;
    let is_scored = inference.as_marginals().is_some();
    if is_scored {
        let data = encoded.data();
        let n_labels = |i| data.shape(i).node_offset(data.shape(i).n_nodes());
        let n = (0..data.len()).map(n_labels).sum::<usize>();
        // They are collected sequence by sequence, then joined.
        let bytes = 2.0 * size_of::<f64>() as f64 * n as f64;
        require_memory(
            bytes,
            &format!("the {n} probabilities of all labels"),
            "evaluate fewer sequences at once",
        )?;
    }
    let answers = for_each_sequence(&*bound, encoded, inference, |i, p, scratch| {
        let viterbi_labels =
            (decode == Decode::Viterbi).then(|| viterbi(inference, p, scratch)).transpose()?;
        let mut node = Vec::new();
        let log_z = is_scored.then(|| marginals(inference, p, &mut node, scratch)).transpose()?;
        let labels = viterbi_labels.unwrap_or_else(|| most_likely(p, &node));
        let Some(log_z) = log_z else { return Ok((labels, None)) };
        let truth = &encoded.data().labels()[encoded.data().range(i)];
        let log_likelihood = log_probability(inference, p, log_z, truth, scratch)?;
        Ok((labels, Some((log_likelihood, log_z, node))))
    })?;
    let mut predicted = Vec::new();
    let mut probabilities = is_scored.then(Probabilities::default);
    for (labels, scored) in answers {
        predicted.extend(labels);
        if let Some((all, (log_likelihood, log_z, marginals))) = probabilities.as_mut().zip(scored) {
            all.log_likelihood.push(log_likelihood);
            all.log_z.push(log_z);
            all.marginals.extend(marginals);
        }
    }
    let map = model.log_linear().map(|model| model.map().clone());
    Ok(Evaluation { data: encoded.data().clone(), predicted, probabilities, map })
}

/// Log probability of the known labels, given log Z of all labellings: −∞ if they cannot be.
fn log_probability(
    inference: &dyn Inference,
    p: &mut Potentials<'_>,
    log_z: LogZ,
    known: &[Option<Label>],
    scratch: &mut Scratch,
) -> Result<f64> {
    // A label that the model does not have is impossible under it.
    if known.iter().flatten().any(|&label| Dataset::is_foreign(label)) {
        return Ok(f64::NEG_INFINITY);
    }
    if known.iter().all(Option::is_none) {
        return Ok(0.0);
    }
    let log_known = match known.iter().copied().collect::<Option<Vec<Label>>>() {
        Some(labels) => LogZ::exact(p.score(&labels)),
        None => {
            p.clamp(known);
            match marginals(inference, p, &mut Vec::new(), scratch) {
                Err(Error::Infeasible(_)) => return Ok(f64::NEG_INFINITY),
                log_known => log_known?,
            }
        }
    };
    let log_p = log_known.value - log_z.value;
    // Of exact numbers only rounding can make the part greater than the whole.
    let is_exact = [log_known, log_z].iter().all(|answer| answer.bound == Bound::Exact);
    Ok(if is_exact { log_p.min(0.0) } else { log_p })
}
