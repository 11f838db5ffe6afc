use std::sync::Arc;

use crf_core::{
    BoundModel, EncodedDataset, Error, FeatureMap, FittedFeatures, Model, NodeKind, Potentials, Result,
    Scratch,
};
use serde::{Deserialize, Serialize};

use crate::boosting::node_scores::{RelationTables, outcome, relations};
use crate::boosting::trees::Attributes;
use crate::boosting::weak_learner::{Question, WeakLearner};

/// Additive model of a field on any graph: node scores are sums of functions of single attributes,
/// and each relation has one table. It is the result of boosting with stumps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdditiveModel {
    map: Arc<FeatureMap>,
    attributes: Attributes,
    base: Vec<Vec<f64>>,   // [kinds] scores that all nodes of a kind have in common
    scores: Vec<Vec<f64>>, // [attributes] bin, then label; empty for unused attributes
    tables: Vec<Vec<f64>>, // [relations] tail label, then head label
    entered: Vec<Entry>,   // [rounds]
}

/// Record of a round: its question and its gain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Entry {
    #[serde(rename = "looks")]
    question: Question,
    gain: f64,
}

impl AdditiveModel {
    /// Creates the model of some weak learners.
    pub(crate) fn new(map: Arc<FeatureMap>, attributes: Attributes, weak: &[WeakLearner]) -> Self {
        let mut scores = vec![Vec::new(); attributes.len()];
        let mut tables = RelationTables::new(&map);
        let mut base: Vec<Vec<f64>> =
            map.schema().kinds().iter().map(|kind| vec![0.0; kind.labels.len()]).collect();
        for WeakLearner { question, values, .. } in weak {
            match *question {
                Question::Nothing { kind } => {
                    base[usize::from(kind)].iter_mut().zip(values).for_each(|(base, value)| *base += value);
                }
                Question::Attribute { attribute, cut } => {
                    let a = attribute as usize;
                    let n = map.schema().n_labels(attributes.kind(a, map.state()));
                    scores[a].resize(attributes.n_bins(a) * n, 0.0);
                    for (bin, scores) in (0..).zip(scores[a].chunks_mut(n)) {
                        let start = outcome(bin, cut) * n;
                        scores
                            .iter_mut()
                            .zip(&values[start..start + n])
                            .for_each(|(score, value)| *score += value);
                    }
                }
                Question::Relation { relation, head } => {
                    let (tails, heads) = map.schema().table_shape(relation);
                    let sides = if head { (tails, heads) } else { (heads, tails) };
                    tables.add(relation, head, values, sides);
                }
            }
        }
        let tables =
            tables.starts.windows(2).map(|range| tables.values[range[0]..range[1]].to_vec()).collect();
        let chosen = weak.iter().filter(|weak| !matches!(weak.question, Question::Nothing { .. }));
        let entered = chosen.map(|&WeakLearner { question, gain, .. }| Entry { question, gain }).collect();
        AdditiveModel { map, attributes, base, scores, tables, entered }
    }

    /// Replaces the tables, one for each relation, by the label of the tail, then of the head.
    pub(crate) fn with_tables(self, tables: Vec<Vec<f64>>) -> Self {
        AdditiveModel { tables, ..self }
    }

    /// State functions of the attributes that rounds used, ascending.
    pub(crate) fn functions(&self) -> Vec<u32> {
        let used = self.entered.iter().filter_map(|entry| match entry.question {
            Question::Attribute { attribute, .. } => Some(self.attributes.functions(attribute as usize)),
            Question::Nothing { .. } | Question::Relation { .. } => None,
        });
        let mut functions: Vec<u32> = used.flatten().copied().collect();
        functions.sort_unstable();
        functions.dedup();
        functions
    }

    /// Description and gain of each round: an attribute, or a relation with the end that is scored.
    pub fn entered(&self) -> impl Iterator<Item = (String, f64)> + '_ {
        let (features, schema) = (self.map.state(), self.map.schema());
        self.entered.iter().map(move |&Entry { question, gain }| {
            let name = match question {
                Question::Attribute { attribute, cut: Some(cut) } if cut > 0 => {
                    self.attributes.below(attribute as usize, cut, false, features)
                }
                Question::Attribute { attribute, .. } => self.attributes.name(attribute as usize, features),
                Question::Nothing { kind } => schema.kinds()[usize::from(kind)].name.clone(),
                Question::Relation { relation, head } => {
                    let name = &schema.relations()[usize::from(relation)].name;
                    format!("{name}, {}", if head { "heads" } else { "tails" })
                }
            };
            (name, gain)
        })
    }

    /// Scores of the labels of a node whose attribute `a` is in a bin; empty if no round used it.
    fn bin_scores(&self, a: usize, bin: u32, n: usize) -> &[f64] {
        self.scores[a].get(bin as usize * n..(bin as usize + 1) * n).unwrap_or_default()
    }

    /// Scores of the nodes of each kind whose attributes are all in their default bins.
    ///
    /// They are the same everywhere, so a position costs its own attributes alone.
    fn default_scores(&self) -> Vec<Vec<f64>> {
        let mut base = self.base.clone();
        for a in (0..self.attributes.len()).filter(|&a| !self.scores[a].is_empty()) {
            let base = &mut base[usize::from(self.attributes.kind(a, self.map.state()))];
            let scores = self.bin_scores(a, self.attributes.default_bin(a), base.len());
            base.iter_mut().zip(scores).for_each(|(base, score)| *base += score);
        }
        base
    }

    fn fits(&self) -> bool {
        let (features, schema) = (self.map.state(), self.map.schema());
        let scores = |(a, scores): (usize, &Vec<f64>)| {
            let len = self.attributes.n_bins(a) * schema.n_labels(self.attributes.kind(a, features));
            scores.is_empty() || scores.len() == len
        };
        let table = |(r, table): (usize, &Vec<f64>)| {
            let (rows, columns) = schema.table_shape(r as u16);
            table.len() == rows * columns
        };
        let entry = |entry: &Entry| match entry.question {
            Question::Attribute { attribute, cut } => {
                let a = attribute as usize;
                let is_cut = |cut| cut == 0 || self.attributes.has_cut(a, cut);
                a < self.attributes.len() && cut.is_none_or(is_cut)
            }
            Question::Nothing { kind } => usize::from(kind) < schema.kinds().len(),
            Question::Relation { relation, .. } => usize::from(relation) < schema.relations().len(),
        };
        let base = |(base, kind): (&Vec<f64>, &NodeKind)| base.len() == kind.labels.len();
        self.scores.len() == self.attributes.len()
            && self.tables.len() == schema.relations().len()
            && self.base.len() == schema.kinds().len()
            && self.base.iter().zip(schema.kinds()).all(base)
            && self.scores.iter().enumerate().all(scores)
            && self.tables.iter().enumerate().all(table)
            && self.entered.iter().all(|round| entry(round) && round.gain.is_finite())
            && self.scores.iter().chain(&self.tables).chain(&self.base).flatten().all(|x| x.is_finite())
    }
}

#[typetag::serde(name = "additive")]
impl Model for AdditiveModel {
    fn bind<'a>(&'a self, x: &'a EncodedDataset) -> Result<Box<dyn BoundModel + 'a>> {
        if x.data().schema() != self.map.schema() {
            return Err(Error::data("the model was made for other channels or labels than the data have"));
        }
        let tables = RelationTables::with_values(&self.map, self.tables.concat());
        let base = self.default_scores();
        Ok(Box::new(BoundAdditive { model: self, x, tables, relations: relations(x), base }))
    }

    fn restore(&mut self, features: &FittedFeatures) -> Result<()> {
        Arc::make_mut(&mut self.map).restore(features)?;
        self.attributes.restore(self.map.state())?;
        if self.fits() { Ok(()) } else { Err(Error::data("the scores of the model do not fit its features")) }
    }

    /// Reports the question of each round, then the scores of pairs of labels.
    fn describe(&self, top: usize, out: &mut dyn FnMut(&str, f64)) {
        let mut all: Vec<(String, f64)> = self
            .entered()
            .enumerate()
            .map(|(round, (name, gain))| (format!("round {}: {name}", round + 1), gain))
            .collect();
        let schema = self.map.schema();
        for (relation, table) in schema.relations().iter().zip(&self.tables) {
            let [tails, heads] =
                [relation.tail, relation.head].map(|kind| &schema.kinds()[usize::from(kind)].labels);
            for (pair, &score) in table.iter().enumerate().filter(|(_, score)| **score != 0.0) {
                let [before, now] = [pair / heads.len(), pair % heads.len()].map(|y| y as u32);
                all.push((
                    format!("{}: y'={} ∧ y={}", relation.name, tails.name(before), heads.name(now)),
                    score,
                ));
            }
        }
        all.iter().take(top).for_each(|(name, value)| out(name, *value));
    }
}

/// An additive model bound to a dataset.
struct BoundAdditive<'a> {
    model: &'a AdditiveModel,
    x: &'a EncodedDataset,
    tables: RelationTables,
    relations: Vec<Vec<u32>>,
    base: Vec<Vec<f64>>, // [kinds] scores of a node whose attributes are all in their default bins
}

impl BoundModel for BoundAdditive<'_> {
    fn fill<'s>(&'s self, i: usize, scratch: &'s mut Scratch) -> Result<Potentials<'s>> {
        let BoundAdditive { model: AdditiveModel { attributes, .. }, x, .. } = self;
        let (shape, start) = (x.data().shape(i), x.data().range(i).start);
        let node: &mut Vec<f64> = scratch.get();
        node.clear();
        node.resize(shape.node_offset(shape.n_nodes()), 0.0);
        for t in 0..shape.n_nodes() {
            let (scores, kind) = (&mut node[shape.node_offset(t)..shape.node_offset(t + 1)], shape.kind(t));
            let n = scores.len();
            scores.copy_from_slice(&self.base[usize::from(kind)]);
            let mut add = |values: &[f64], sign: f64| {
                scores.iter_mut().zip(values).for_each(|(score, value)| *score += sign * value);
            };
            for (a, bin) in attributes.row(x, start + t) {
                let a = a as usize;
                if !self.model.scores[a].is_empty() {
                    add(self.model.bin_scores(a, attributes.default_bin(a), n), -1.0);
                    add(self.model.bin_scores(a, bin, n), 1.0);
                }
            }
        }
        Potentials::new(shape, node, self.tables.tables(&self.relations[i]))
    }
}
