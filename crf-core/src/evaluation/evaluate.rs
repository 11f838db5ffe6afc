use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Label;
use crate::data::dataset::Dataset;
use crate::error::{Error, Result};
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::feature_map::FeatureMap;
use crate::inference::algorithm::Inference;
use crate::inference::answers::{Beliefs, EdgeBeliefs, LogZ};
use crate::inference::potentials::Potentials;
use crate::inference::scratch::Scratch;
use crate::learning::learner::{Problem, Trace};
use crate::models::model::{BoundModel, Model};

/// Which labelling is the answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decode {
    /// The most likely labelling as a whole: fewest wrong sequences.
    Viterbi,
    /// The most likely label of each position: fewest wrong positions.
    #[default]
    Posterior,
}

impl Decode {
    /// Refuses an inference that cannot decode so, before anything is trained.
    pub fn check(self, inference: &dyn Inference) -> Result<()> {
        match self {
            Decode::Viterbi => Ok(()),
            Decode::Posterior => inference
                .require_marginals()
                .map(|_| ())
                .map_err(|error| error.at("`decode = \"posterior\"` needs marginals, `viterbi` does not")),
        }
    }
}

/// Predictions for labelled data, from which every metric is computed.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The data with their true labels.
    pub data: Arc<Dataset>,
    /// The predicted label of each position.
    pub predicted: Vec<Label>,
    /// How likely labels are; nothing where inference finds labellings only.
    pub probabilities: Option<Probabilities>,
    /// The features of the model; nothing where it is not log-linear.
    pub map: Option<Arc<FeatureMap>>,
    /// What another inference says of the same model and data, if these answers are to be compared with it.
    pub reference: Option<Box<Evaluation>>,
    /// The model's parameters in words, where a metric asks for them.
    pub parameters: Vec<(String, f64)>,
    /// The labels that are most likely as a whole, where a metric asks for them.
    pub viterbi: Option<Vec<Label>>,
    /// How the model was trained, where a metric asks for it.
    pub trace: Option<Trace>,
}

/// What inference says beyond labels.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Probabilities {
    /// log p(y | x) of each sequence's known labels.
    pub log_likelihood: Vec<f64>,
    /// log Z of each sequence, and what it is worth.
    pub log_z: Vec<LogZ>,
    /// The probability of each label, position by position: where one starts, the shapes of the data tell.
    pub marginals: Vec<f64>,
}

impl Evaluation {
    /// Every labelled position's true and predicted label.
    pub fn pairs(&self) -> impl Iterator<Item = (Label, Label)> {
        self.pairs_with(&self.predicted)
    }

    /// Every labelled position's true label and that of a labelling.
    pub fn pairs_with(&self, labels: &[Label]) -> impl Iterator<Item = (Label, Label)> {
        let pairs = self.data.labels().iter().zip(labels);
        pairs.filter_map(|(truth, &label)| Some(((*truth)?, label)))
    }

    /// The probabilities, or an error that says why there are none.
    pub fn probabilities(&self) -> Result<&Probabilities> {
        let none = "the inference finds labellings only, so neither log Z nor marginals are known";
        self.probabilities.as_ref().ok_or_else(|| Error::data(none))
    }

    /// The probabilities of these answers and of those they are compared with.
    pub fn compared(&self) -> Result<(&Probabilities, &Probabilities)> {
        let none = "there is no reference inference to compare the answers with";
        let reference = self.reference.as_ref().ok_or_else(|| Error::data(none))?;
        Ok((self.probabilities()?, reference.probabilities()?))
    }

    /// The probability of each position's predicted label.
    pub fn confidence(&self) -> Result<Vec<f64>> {
        let mut marginals = &self.probabilities()?.marginals[..];
        let mut confidence = Vec::with_capacity(self.predicted.len());
        for i in 0..self.data.len() {
            let (shape, given) = (self.data.shape(i), &self.predicted[self.data.range(i)]);
            confidence
                .extend(given.iter().enumerate().map(|(n, &y)| marginals[shape.node_offset(n) + y as usize]));
            marginals = &marginals[shape.node_offset(shape.n_nodes())..];
        }
        Ok(confidence)
    }
}

/// Labels every sequence of a corpus and scores its true labels, on all threads.
///
/// An inference that finds labellings only can decode them as a whole; then nothing is scored.
pub fn evaluate(
    model: &dyn Model,
    x: &EncodedDataset,
    inference: &dyn Inference,
    decode: Decode,
) -> Result<Evaluation> {
    evaluate_bound(model, &*model.bind(x)?, x, inference, decode)
}

impl Problem<'_> {
    /// [`evaluate`] by the problem's inference and under its constraints.
    pub fn evaluate(&self, model: &dyn Model, x: &EncodedDataset, decode: Decode) -> Result<Evaluation> {
        evaluate_bound(model, &*self.bind(model, x)?, x, self.inference, decode)
    }
}

fn evaluate_bound(
    model: &dyn Model,
    bound: &dyn BoundModel,
    x: &EncodedDataset,
    inference: &dyn Inference,
    decode: Decode,
) -> Result<Evaluation> {
    decode.check(inference)?;
    let scored = inference.as_marginals().is_some();
    let answers = (0..x.len()).into_par_iter().map_init(
        || (Scratch::new(), Scratch::new()),
        |(memory, scratch), i| {
            let at = |error: Error| error.at(format!("sequence {}", i + 1));
            let mut p = bound.fill(i, memory)?;
            inference.supports(&p.shape())?;
            let (mut labels, mut marginals) = (vec![0; p.shape().n_nodes()], Vec::new());
            if decode == Decode::Viterbi {
                inference.decode(&p, &mut labels, scratch).map_err(at)?;
            }
            if !scored {
                return Ok((labels, None));
            }
            let log_z = marginals_of(inference, &p, &mut marginals, scratch).map_err(at)?;
            if decode == Decode::Posterior {
                posterior(&p, &marginals, &mut labels);
            }
            let truth = &x.data().labels()[x.data().range(i)];
            let log_known = log_score(inference, &mut p, truth, scratch).map_err(at)?;
            Ok((labels, Some((log_known - log_z.value, log_z, marginals))))
        },
    );
    let mut predicted = Vec::new();
    let mut probabilities = scored.then(Probabilities::default);
    for answer in answers.collect::<Vec<Result<_>>>() {
        let (labels, told) = answer?;
        predicted.extend(labels);
        if let Some((all, (log_likelihood, log_z, marginals))) = probabilities.as_mut().zip(told) {
            all.log_likelihood.push(log_likelihood);
            all.log_z.push(log_z);
            all.marginals.extend(marginals);
        }
    }
    Ok(Evaluation {
        data: x.data().clone(),
        predicted,
        probabilities,
        map: model.log_linear().map(|model| model.map().clone()),
        reference: None,
        parameters: Vec::new(),
        viterbi: None,
        trace: None,
    })
}

fn marginals_of(
    inference: &dyn Inference,
    p: &Potentials<'_>,
    node: &mut Vec<f64>,
    scratch: &mut Scratch,
) -> Result<LogZ> {
    node.resize(p.node().len(), 0.0);
    inference.infer(p, &mut Beliefs { node, edge: EdgeBeliefs::None }, scratch)
}

/// log Σ exp(score) over the labellings that agree with what is known.
fn log_score(
    inference: &dyn Inference,
    p: &mut Potentials<'_>,
    known: &[Option<Label>],
    scratch: &mut Scratch,
) -> Result<f64> {
    match known.iter().copied().collect::<Option<Vec<Label>>>() {
        // A label that the model does not have is impossible to it.
        _ if known.iter().flatten().any(|&label| Dataset::is_foreign(label)) => Ok(f64::NEG_INFINITY),
        Some(labels) => Ok(p.score(&labels)),
        None => {
            p.clamp(known);
            Ok(marginals_of(inference, p, &mut Vec::new(), scratch)?.value)
        }
    }
}

/// The label with the largest marginal at each node; the first of several equal ones.
fn posterior(p: &Potentials<'_>, node: &[f64], labels: &mut [Label]) {
    for (n, label) in labels.iter_mut().enumerate() {
        let beliefs = &node[p.shape().node_offset(n)..p.shape().node_offset(n + 1)];
        let mut best = 0;
        for (y, &belief) in beliefs.iter().enumerate() {
            if belief > beliefs[best] {
                best = y;
            }
        }
        *label = best as Label;
    }
}
