use std::sync::Arc;

use crf_core::{
    BoundModel, EncodedDataset, Error, FeatureMap, FittedFeatures, Model, Potentials, Result, Scratch,
};
use serde::{Deserialize, Serialize};

use crate::boosting::node_scores::{NeighbourTerm, RelationTables, for_each_count, outcome, relations};
use crate::boosting::trees::{Attributes, Row};
use crate::boosting::weak_learner::Question;
use crate::objectives::pseudo_likelihood::log_loss;

/// A boosted random field: rounds that are replayed on new data.
///
/// Its node potentials are the scores after the last round, and its edges tie nothing: every inference gives its beliefs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BrfModel {
    map: Arc<FeatureMap>,
    attributes: Attributes,
    steps: Vec<BoostedRound>,
}

/// What a round added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BoostedRound {
    /// The attribute looked at.
    pub(crate) looks: Question,
    /// Outcome, then label.
    pub(crate) values: Vec<f64>,
    /// How neighbours count.
    pub(crate) tie: Option<NeighbourTerm>,
}

impl BrfModel {
    pub(crate) fn new(map: Arc<FeatureMap>, attributes: Attributes, steps: Vec<BoostedRound>) -> Self {
        BrfModel { map, attributes, steps }
    }

    fn fits(&self) -> bool {
        let (links, schema) = (self.map.state(), self.map.schema());
        self.steps.iter().all(|BoostedRound { looks, values, tie }| {
            let Question::Attribute { attribute, cut } = *looks else { return false };
            let a = attribute as usize;
            let local = a < self.attributes.len() && {
                let outcomes = if cut.is_some() { 2 } else { self.attributes.n_bins(a) };
                values.len() == outcomes * schema.n_labels(self.attributes.kind(a, links))
            };
            local
                && tie.as_ref().is_none_or(|tie| {
                    usize::from(tie.relation) < schema.relations().len() && {
                        let (tails, heads) = schema.table_shape(tie.relation);
                        let (others, own) = if tie.head { (tails, heads) } else { (heads, tails) };
                        (tie.label as usize) < others && tie.slopes.len() == own && tie.constants.len() == own
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
        Ok(Box::new(Bound {
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

    /// What each round looked at, with the largest value or slope.
    fn describe(&self, top: usize, out: &mut dyn FnMut(&str, f64)) {
        let (links, schema) = (self.map.state(), self.map.schema());
        let largest = |values: &[f64]| values.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
        let steps = (1..).zip(&self.steps).flat_map(|(round, BoostedRound { looks, values, tie })| {
            let local = match *looks {
                Question::Attribute { attribute, .. } => {
                    let name = self.attributes.name(attribute as usize, links);
                    Some((format!("round {round}: {name}"), largest(values)))
                }
                Question::Relation { .. } | Question::Nothing { .. } => None,
            };
            let tie = tie.as_ref().map(|tie| {
                let name = &schema.relations()[usize::from(tie.relation)].name;
                (
                    format!("round {round}: {name}, {}", if tie.head { "heads" } else { "tails" }),
                    largest(&tie.slopes),
                )
            });
            local.into_iter().chain(tie)
        });
        steps.take(top).for_each(|(name, value)| out(&name, value));
    }
}

/// A model and the corpus on whose sequences it is replayed.
struct Bound<'a> {
    model: &'a BrfModel,
    x: &'a EncodedDataset,
    tables: RelationTables,
    relations: Vec<Vec<u32>>,
}

/// Memory for one sequence.
#[derive(Debug, Default)]
struct Buffer {
    node: Vec<f64>,
    beliefs: Vec<f64>,
    outcomes: Vec<u32>, // [rounds × nodes]
}

impl BoundModel for Bound<'_> {
    fn fill<'s>(&'s self, i: usize, scratch: &'s mut Scratch) -> Result<Potentials<'s>> {
        let Bound { model: BrfModel { map, attributes, steps }, x, .. } = self;
        let (shape, start) = (x.data().shape(i), x.data().range(i).start);
        let (mut row, n_nodes) = (Row::new(attributes), shape.n_nodes());
        let Buffer { node, beliefs, outcomes } = scratch.of();
        node.clear();
        node.resize(shape.node_offset(n_nodes), 0.0);
        beliefs.resize(node.len(), 0.0);
        outcomes.resize(steps.len() * n_nodes, 0);
        for n in 0..n_nodes {
            row.read(attributes.row(x, start + n));
            for (round, step) in steps.iter().enumerate() {
                if let Question::Attribute { attribute, cut } = step.looks {
                    outcomes[round * n_nodes + n] = outcome(row.bin(attribute), cut) as u32;
                }
            }
        }
        for (round, BoostedRound { looks, values, tie }) in steps.iter().enumerate() {
            beliefs.copy_from_slice(node);
            for n in 0..n_nodes {
                let range = shape.node_offset(n)..shape.node_offset(n + 1);
                log_loss(&mut beliefs[range.clone()], 0);
                beliefs[range.start] += 1.0;
                let kind = |a: u32| attributes.kind(a as usize, map.state());
                if matches!(*looks, Question::Attribute { attribute, .. } if kind(attribute) == shape.kind(n))
                {
                    let at = outcomes[round * n_nodes + n] as usize * range.len();
                    node[range].iter_mut().zip(&values[at..]).for_each(|(score, value)| *score += value);
                }
            }
            if let Some(tie) = tie {
                for_each_count(&shape, tie.relation, tie.head, tie.label as usize, beliefs, |n, m| {
                    tie.add(m, &mut node[shape.node_offset(n)..shape.node_offset(n + 1)]);
                });
            }
        }
        Potentials::new(shape, node, self.tables.of(&self.relations[i]))
    }
}
