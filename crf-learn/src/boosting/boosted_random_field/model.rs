use std::sync::Arc;

use crf_core::{
    BoundModel, EncodedDataset, Error, FeatureMap, FittedFeatures, Model, Potentials, Result, Scratch,
};
use serde::{Deserialize, Serialize};

use crate::boosting::node_scores::{
    NeighbourTerm, RelationTables, for_each_count, merge_term, outcome, relations,
};
use crate::boosting::trees::{Attributes, Row};
use crate::boosting::weak_learner::Question;
use crate::objectives::pseudo_likelihood::log_loss;

/// A boosted random field: rounds that are replayed on new data.
///
/// Its node potentials are the scores after the last round, and its edges tie nothing: every
/// inference returns its beliefs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BrfModel {
    map: Arc<FeatureMap>,
    attributes: Attributes,
    steps: Vec<BoostedRound>,
}

/// Weak learners of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BoostedRound {
    /// Attribute of the local weak learner.
    #[serde(rename = "looks")]
    pub(crate) question: Question,
    /// Values of the local weak learner: outcome, then label.
    pub(crate) values: Vec<f64>,
    /// Term of the beliefs of neighbours, if any.
    #[serde(rename = "tie")]
    pub(crate) term: Option<NeighbourTerm>,
}

impl BrfModel {
    pub(crate) fn new(map: Arc<FeatureMap>, attributes: Attributes, steps: Vec<BoostedRound>) -> Self {
        BrfModel { map, attributes, steps }
    }

    fn fits(&self) -> bool {
        let (features, schema) = (self.map.state(), self.map.schema());
        self.steps.iter().all(|BoostedRound { question, values, term }| {
            let Question::Attribute { attribute, cut } = *question else { return false };
            let a = attribute as usize;
            let local = a < self.attributes.len() && {
                let outcomes = if cut.is_some() { 2 } else { self.attributes.n_bins(a) };
                values.len() == outcomes * schema.n_labels(self.attributes.kind(a, features))
            };
            local
                && term.as_ref().is_none_or(|term| {
                    usize::from(term.relation) < schema.relations().len() && {
                        let (tails, heads) = schema.table_shape(term.relation);
                        let (others, own) = if term.head { (tails, heads) } else { (heads, tails) };
                        (term.label as usize) < others
                            && term.slopes.len() == own
                            && term.constants.len() == own
                    }
                })
        })
    }
}

#[typetag::serde(name = "boosted-random-field")]
impl Model for BrfModel {
    fn bind<'a>(&'a self, x: &'a EncodedDataset) -> Result<Box<dyn BoundModel + 'a>> {
        if x.data().schema() != self.map.schema() {
            return Err(Error::data("the model was made for other channels or labels than the data have"));
        }
        let mut terms = Vec::new();
        let terms_so_far = |step: &BoostedRound| {
            step.term.iter().for_each(|term| merge_term(&mut terms, term));
            terms.clone()
        };
        Ok(Box::new(BoundBrf {
            terms: self.steps.iter().map(terms_so_far).collect(),
            model: self,
            x,
            tables: RelationTables::new(&self.map),
            relations: relations(x),
        }))
    }

    fn restore(&mut self, features: &FittedFeatures) -> Result<()> {
        Arc::make_mut(&mut self.map).restore(features)?;
        self.attributes.restore(self.map.state())?;
        if self.fits() { Ok(()) } else { Err(Error::data("the rounds of the model do not fit its features")) }
    }

    /// Reports the attribute and the relation of each round, with the largest value or slope.
    fn describe(&self, top: usize, out: &mut dyn FnMut(&str, f64)) {
        let (features, schema) = (self.map.state(), self.map.schema());
        let largest = |values: &[f64]| values.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
        let steps = (1..).zip(&self.steps).flat_map(|(round, BoostedRound { question, values, term })| {
            let local = match *question {
                Question::Attribute { attribute, .. } => {
                    let name = self.attributes.name(attribute as usize, features);
                    Some((format!("round {round}: {name}"), largest(values)))
                }
                Question::Relation { .. } | Question::Nothing { .. } => None,
            };
            let term = term.as_ref().map(|term| {
                let name = &schema.relations()[usize::from(term.relation)].name;
                (
                    format!("round {round}: {name}, {}", if term.head { "heads" } else { "tails" }),
                    largest(&term.slopes),
                )
            });
            local.into_iter().chain(term)
        });
        steps.take(top).for_each(|(name, value)| out(&name, value));
    }
}

/// A boosted random field bound to a dataset.
struct BoundBrf<'a> {
    model: &'a BrfModel,
    x: &'a EncodedDataset,
    tables: RelationTables,
    relations: Vec<Vec<u32>>,
    terms: Vec<Vec<NeighbourTerm>>, // [rounds] all terms up to the round
}

/// Memory for one sequence.
#[derive(Debug, Default)]
struct Buffer {
    node: Vec<f64>,
    local: Vec<f64>, // scores by attributes alone
    beliefs: Vec<f64>,
    outcomes: Vec<u32>, // [rounds × nodes]
    row: Row,
}

impl BoundModel for BoundBrf<'_> {
    fn fill<'s>(&'s self, i: usize, scratch: &'s mut Scratch) -> Result<Potentials<'s>> {
        let BoundBrf { model: BrfModel { map, attributes, steps }, x, .. } = self;
        let (shape, start) = (x.data().shape(i), x.data().range(i).start);
        let n_nodes = shape.n_nodes();
        let Buffer { node, local, beliefs, outcomes, row } = scratch.get();
        row.attach(attributes);
        local.clear();
        local.resize(shape.node_offset(n_nodes), 0.0);
        node.clear();
        node.resize(shape.node_offset(n_nodes), 0.0);
        beliefs.resize(node.len(), 0.0);
        outcomes.resize(steps.len() * n_nodes, 0);
        for n in 0..n_nodes {
            row.read(attributes.row(x, start + n));
            for (round, step) in steps.iter().enumerate() {
                if let Question::Attribute { attribute, cut } = step.question {
                    outcomes[round * n_nodes + n] = outcome(row.bin(attribute), cut) as u32;
                }
            }
        }
        for (round, BoostedRound { question, values, .. }) in steps.iter().enumerate() {
            beliefs.copy_from_slice(node);
            for n in 0..n_nodes {
                let range = shape.node_offset(n)..shape.node_offset(n + 1);
                log_loss(&mut beliefs[range.clone()], 0);
                beliefs[range.start] += 1.0;
                let kind = |a: u32| attributes.kind(a as usize, map.state());
                if matches!(*question, Question::Attribute { attribute, .. } if kind(attribute) == shape.kind(n))
                {
                    let start = outcomes[round * n_nodes + n] as usize * range.len();
                    local[range].iter_mut().zip(&values[start..]).for_each(|(score, value)| *score += value);
                }
            }
            node.copy_from_slice(local);
            for term in &self.terms[round] {
                for_each_count(&shape, term.relation, term.head, term.label as usize, beliefs, |n, m| {
                    term.add(m, &mut node[shape.node_offset(n)..shape.node_offset(n + 1)]);
                });
            }
        }
        Potentials::new(shape, node, self.tables.tables(&self.relations[i]))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crf_testing::problems::{Draw, Encoded, data};

    #[test]
    fn functions_of_all_rounds_see_the_present_beliefs() {
        let draw = Draw { sequences: 1, length: 6, labels: 2, unlabelled: 0, seed: 3 };
        let encoded = Encoded::new(r#"["transition", {"state": "value"}]"#, data(&draw));
        let attributes = Attributes::new(encoded.map.state(), &encoded.corpus, 2);
        let term = |head: bool, slope: f64| NeighbourTerm {
            relation: 0,
            head,
            label: 1,
            slopes: vec![-slope, slope],
            constants: vec![0.1, -0.1],
        };
        let round = |values: [f64; 4], term| BoostedRound {
            question: Question::Attribute { attribute: 0, cut: Some(1) },
            values: values.to_vec(),
            term,
        };
        let rounds = vec![
            round([0.5, -0.5, -1.0, 1.0], Some(term(true, 0.7))),
            round([0.2, -0.2, 0.4, -0.4], Some(term(false, -0.3))),
            round([0.0, 0.0, -0.3, 0.3], None),
            round([0.1, -0.1, 0.0, 0.0], Some(term(true, 0.4))),
        ];
        // F^t and G^t by their definitions.
        let n = encoded.corpus.data().n_positions();
        let cut =
            |t: usize| attributes.row(&encoded.corpus, t).find(|(a, _)| *a == 0).map_or(0, |(_, bin)| bin);
        let (mut local, mut scores) = (vec![[0.0_f64; 2]; n], vec![[0.0_f64; 2]; n]);
        for (last, BoostedRound { values, .. }) in rounds.iter().enumerate() {
            let of_one = |t: usize| 1.0 / (1.0 + (scores[t][0] - scores[t][1]).exp());
            let beliefs: Vec<f64> = (0..n).map(of_one).collect();
            for t in 0..n {
                let outcome = usize::from(cut(t) >= 1);
                (0..2).for_each(|y| local[t][y] += values[2 * outcome + y]);
                scores[t] = local[t];
                for term in rounds[..=last].iter().filter_map(|round| round.term.as_ref()) {
                    let neighbour = if term.head { t.checked_sub(1) } else { Some(t + 1).filter(|&t| t < n) };
                    let Some(neighbour) = neighbour else { continue };
                    (0..2).for_each(|y| {
                        scores[t][y] += term.slopes[y] * beliefs[neighbour] + term.constants[y]
                    });
                }
            }
        }
        let model = BrfModel::new(encoded.map.clone(), attributes, rounds);
        let bound = model.bind(&encoded.corpus).unwrap();
        let mut scratch = Scratch::new();
        let p = bound.fill(0, &mut scratch).unwrap();
        assert!(p.node().iter().zip(scores.as_flattened()).all(|(a, b)| (a - b).abs() < 1e-12), "{p:?}");
    }
}
