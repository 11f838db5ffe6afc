use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Label;
use crate::error::{Error, Result};
use crate::features::encoded_dataset::EncodedDataset;
use crate::inference::algorithm::Inference;
use crate::inference::answers::{Beliefs, EdgeBeliefs, LogZ};
use crate::inference::potentials::Potentials;
use crate::inference::scratch::Scratch;
use crate::models::model::BoundModel;

/// Decoding: the labelling that is predicted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decode {
    /// Most likely labelling as a whole: minimises the number of wrong sequences.
    Viterbi,
    /// Most likely label of each position: minimises the number of wrong positions.
    #[default]
    Posterior,
}

impl Decode {
    /// Rejects an inference that cannot decode in this way, before anything is trained.
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

/// Question about each sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query {
    /// Labels of this decoding.
    Labels(Decode),
    /// Labels of this decoding, and all marginals.
    Marginals(Decode),
    /// The `k` most likely labellings.
    Best(usize),
}

/// Answer for one sequence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prediction {
    /// Label of each position.
    pub labels: Vec<Label>,
    /// Probability of each label at each position, position by position, if requested.
    pub marginals: Vec<f64>,
    /// Most likely labellings with their probabilities, if requested.
    pub best: Vec<(f64, Vec<Label>)>,
}

/// Answers a question about every sequence, on all threads; an error names the first sequence that
/// has no answer.
pub fn predict(
    bound: &dyn BoundModel,
    encoded: &EncodedDataset,
    inference: &dyn Inference,
    query: Query,
) -> Result<Vec<Prediction>> {
    first_error(predict_each(bound, encoded, inference, query))
}

/// [`predict`] with an answer or an error for each sequence, so that the caller can use the answers
/// before an error and number the sequences as its data do.
pub fn predict_each(
    bound: &dyn BoundModel,
    encoded: &EncodedDataset,
    inference: &dyn Inference,
    query: Query,
) -> Vec<Result<Prediction>> {
    answer_each(bound, encoded, inference, |_, p, scratch| {
        let mut answer = Prediction::default();
        match query {
            Query::Labels(Decode::Viterbi) => answer.labels = viterbi(inference, p, scratch)?,
            Query::Labels(decode) | Query::Marginals(decode) => {
                marginals(inference, p, &mut answer.marginals, scratch)?;
                answer.labels = match decode {
                    Decode::Viterbi => viterbi(inference, p, scratch)?,
                    Decode::Posterior => most_likely(p, &answer.marginals),
                };
                if matches!(query, Query::Labels(_)) {
                    answer.marginals = Vec::new();
                }
            }
            Query::Best(k) => {
                let log_z = marginals(inference, p, &mut Vec::new(), scratch)?.value;
                let k_best = inference.as_k_best().ok_or(Error::Unsupported {
                    tag: inference.typetag_name(),
                    what: "does not list several labellings; `forward-backward` does".into(),
                })?;
                let best = k_best.k_best(p, k, scratch)?.into_iter();
                answer.best = best.map(|found| ((found.score - log_z).exp(), found.labels)).collect();
            }
        }
        Ok(answer)
    })
}

/// Calls `answer` with the potentials of every sequence, on all threads; an error names its
/// sequence.
pub(crate) fn for_each_sequence<A: Send>(
    bound: &dyn BoundModel,
    encoded: &EncodedDataset,
    inference: &dyn Inference,
    answer: impl Fn(usize, &mut Potentials<'_>, &mut Scratch) -> Result<A> + Sync,
) -> Result<Vec<A>> {
    first_error(answer_each(bound, encoded, inference, answer))
}

/// Answers of all sequences, or the error of the first that has none, with its number.
fn first_error<A>(answers: Vec<Result<A>>) -> Result<Vec<A>> {
    let numbered = answers.into_iter().enumerate();
    numbered.map(|(i, answer)| answer.map_err(|error| error.at(format!("sequence {}", i + 1)))).collect()
}

/// Calls `answer` with the potentials of every sequence, on all threads.
fn answer_each<A: Send>(
    bound: &dyn BoundModel,
    encoded: &EncodedDataset,
    inference: &dyn Inference,
    answer: impl Fn(usize, &mut Potentials<'_>, &mut Scratch) -> Result<A> + Sync,
) -> Vec<Result<A>> {
    let answers = (0..encoded.len()).into_par_iter().map_init(
        || (Scratch::new(), Scratch::new()),
        |(memory, scratch), i| {
            let mut p = bound.fill(i, memory)?;
            inference.supports(&p.shape())?;
            answer(i, &mut p, scratch)
        },
    );
    answers.collect()
}

/// Most likely labelling as a whole.
pub(crate) fn viterbi(
    inference: &dyn Inference,
    p: &Potentials<'_>,
    scratch: &mut Scratch,
) -> Result<Vec<Label>> {
    let mut labels = vec![0; p.shape().n_nodes()];
    inference.decode(p, &mut labels, scratch)?;
    Ok(labels)
}

/// Fills `node` with node marginals and returns log Z.
pub(crate) fn marginals(
    inference: &dyn Inference,
    p: &Potentials<'_>,
    node: &mut Vec<f64>,
    scratch: &mut Scratch,
) -> Result<LogZ> {
    node.resize(p.node().len(), 0.0);
    inference.infer(p, &mut Beliefs { node, edge: EdgeBeliefs::None }, scratch)
}

/// Label with the largest marginal at each node; the first of equals.
pub(crate) fn most_likely(p: &Potentials<'_>, node: &[f64]) -> Vec<Label> {
    let shape = p.shape();
    let label = |n: usize| {
        let beliefs = &node[shape.node_offset(n)..shape.node_offset(n + 1)];
        let mut best = 0;
        for (y, &belief) in beliefs.iter().enumerate() {
            if belief > beliefs[best] {
                best = y;
            }
        }
        best as Label
    };
    (0..shape.n_nodes()).map(label).collect()
}
