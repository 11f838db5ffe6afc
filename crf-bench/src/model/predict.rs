use crf_core::{Beliefs, Decode, EdgeBeliefs, EncodedDataset, Error, Label, Result, Scratch};
use rayon::prelude::*;

use crate::model::file::ModelFile;

/// What is asked about each sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Query {
    /// The answer of this decoding.
    Labels(Decode),
    /// The same, and all marginals.
    Marginals(Decode),
    /// So many of the most likely labellings.
    Best(usize),
}

/// What a model says about one sequence.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prediction {
    /// The label of each position.
    pub labels: Vec<Label>,
    /// The probability of each label at each position, one position after the other, if they were asked for.
    pub marginals: Vec<f64>,
    /// The most likely labellings with their probabilities, if they were asked for.
    pub best: Vec<(f64, Vec<Label>)>,
}

/// Answers for every sequence of data that the model's features have encoded, on all threads.
pub fn predict(file: &ModelFile, x: &EncodedDataset, ask: Query) -> Result<Vec<Prediction>> {
    let (bound, inference) = (file.content.model.bind(x)?, &*file.serving.inference);
    let answers = (0..x.len()).into_par_iter().map_init(
        || (Scratch::new(), Scratch::new()),
        |(memory, scratch), i| {
            let p = bound.fill(i, memory)?;
            let mut answer = Prediction::default();
            let mut node = Vec::new();
            let mut log_z = 0.0;
            if ask != Query::Labels(Decode::Viterbi) {
                node.resize(p.node().len(), 0.0);
                let mut beliefs = Beliefs { node: &mut node, edge: EdgeBeliefs::None };
                log_z = inference.infer(&p, &mut beliefs, scratch)?.value;
            }
            match ask {
                Query::Labels(Decode::Viterbi) | Query::Marginals(Decode::Viterbi) => {
                    answer.labels.resize(p.shape().n_nodes(), 0);
                    inference.decode(&p, &mut answer.labels, scratch)?;
                }
                Query::Labels(Decode::Posterior) | Query::Marginals(Decode::Posterior) => {
                    let beliefs = |n| &node[p.shape().node_offset(n)..p.shape().node_offset(n + 1)];
                    answer.labels.extend((0..p.shape().n_nodes()).map(|n| most_likely(beliefs(n))));
                }
                Query::Best(k) => {
                    let k_best = inference.as_k_best().ok_or(Error::Unsupported {
                        tag: inference.typetag_name(),
                        what: "does not list several labellings; `forward-backward` does".into(),
                    })?;
                    let best = k_best.k_best(&p, k, scratch)?.into_iter();
                    answer.best = best.map(|found| ((found.score - log_z).exp(), found.labels)).collect();
                }
            }
            if matches!(ask, Query::Marginals(_)) {
                answer.marginals = node;
            }
            Ok(answer)
        },
    );
    let answers: Vec<Result<Prediction>> = answers.collect();
    let at = |(i, answer): (usize, Result<Prediction>)| {
        answer.map_err(|error| error.at(format!("sequence {}", i + 1)))
    };
    answers.into_iter().enumerate().map(at).collect()
}

/// The label with the largest belief; the first of several equal ones.
fn most_likely(beliefs: &[f64]) -> Label {
    let mut best = 0;
    for (y, &belief) in beliefs.iter().enumerate() {
        if belief > beliefs[best] {
            best = y;
        }
    }
    best as Label
}
