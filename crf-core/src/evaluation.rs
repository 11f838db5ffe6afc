use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Label;
use crate::beliefs::{Beliefs, Bound, EdgeBeliefs};
use crate::corpus::Corpus;
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use crate::inference::Inference;
use crate::model::Model;
use crate::scratch::Scratch;

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

/// Predictions for labelled data, from which every metric is computed.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The data with their true labels.
    pub data: Arc<Dataset>,
    /// The predicted label of each position.
    pub predicted: Vec<Label>,
    /// log p(y | x) of each sequence's known labels.
    pub log_likelihood: Vec<f64>,
    /// Whether the log-likelihoods are exact.
    pub bound: Bound,
}

impl Evaluation {
    /// Every labelled position's true and predicted label.
    pub fn pairs(&self) -> impl Iterator<Item = (Label, Label)> {
        let pairs = self.data.labels().iter().zip(&self.predicted);
        pairs.filter_map(|(truth, &predicted)| Some(((*truth)?, predicted)))
    }
}

/// Labels every sequence of a corpus and scores its true labels, on all threads.
pub fn evaluate(
    model: &dyn Model,
    x: &Corpus,
    inference: &dyn Inference,
    decode: Decode,
) -> Result<Evaluation> {
    let bound = model.bind(x)?;
    let answers = (0..x.len()).into_par_iter().map_init(
        || (Scratch::new(), Scratch::new(), Vec::new()),
        |(memory, scratch, node), i| {
            let at = |error: Error| error.at(format!("sequence {}", i + 1));
            let truth = &x.data().labels()[x.data().range(i)];
            let mut p = bound.fill(i, memory)?;
            inference.supports(&p.shape())?;
            node.clear();
            node.resize(p.node().len(), 0.0);
            let log_z =
                inference.infer(&p, &mut Beliefs { node, edge: EdgeBeliefs::None }, scratch).map_err(at)?;
            let mut labels = vec![0; p.shape().n_nodes()];
            match decode {
                Decode::Posterior => posterior(&p, node, &mut labels),
                Decode::Viterbi => {
                    inference.decode(&p, &mut labels, scratch).map_err(at)?;
                }
            }
            let clamped = match truth.iter().copied().collect::<Option<Vec<Label>>>() {
                // A label that the model does not have is impossible to it.
                _ if truth.iter().flatten().any(|&label| Dataset::is_foreign(label)) => f64::NEG_INFINITY,
                Some(truth) => p.score(&truth),
                None => {
                    p.clamp(truth);
                    inference
                        .infer(&p, &mut Beliefs { node, edge: EdgeBeliefs::None }, scratch)
                        .map_err(at)?
                        .value
                }
            };
            Ok((labels, clamped - log_z.value, log_z.bound))
        },
    );
    let mut evaluation = Evaluation {
        data: x.data().clone(),
        predicted: Vec::new(),
        log_likelihood: Vec::new(),
        bound: Bound::Exact,
    };
    for answer in answers.collect::<Vec<Result<_>>>() {
        let (labels, log_likelihood, bound) = answer?;
        evaluation.predicted.extend(labels);
        evaluation.log_likelihood.push(log_likelihood);
        if bound != Bound::Exact {
            evaluation.bound = Bound::Estimate;
        }
    }
    Ok(evaluation)
}

/// The label with the largest marginal at each node; the first of several equal ones.
fn posterior(p: &crate::Potentials<'_>, node: &[f64], labels: &mut [Label]) {
    for (n, label) in labels.iter_mut().enumerate() {
        let beliefs = &node[p.shape().node_at(n)..p.shape().node_at(n + 1)];
        let mut best = 0;
        for (y, &belief) in beliefs.iter().enumerate() {
            if belief > beliefs[best] {
                best = y;
            }
        }
        *label = best as Label;
    }
}
