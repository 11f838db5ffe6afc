use crf_core::{
    EdgeTables, EncodedDataset, Error, FeatureMap, Inference, Label, Messages, Potentials, Result, Scratch,
    Shape, TableVersion, Tables,
};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::boosting::trees::{Attributes, Binned, Sum};
use crate::boosting::weak_learner::{Question, WeakLearner};
use crate::objectives::labels::{all_labels, refuse_foreign};
use crate::objectives::pseudo_likelihood::log_loss;

/// One table of scores for each relation.
#[derive(Debug, Clone)]
pub(crate) struct RelationTables {
    pub(crate) values: Vec<f64>,   // relation by relation
    pub(crate) starts: Vec<usize>, // [relations + 1]
    relations: Vec<u16>,           // of each table, that is, 0, 1, …
    version: TableVersion,
}

impl RelationTables {
    /// Creates tables of zeros, which tie nothing.
    pub(crate) fn new(map: &FeatureMap) -> Self {
        let schema = map.schema();
        let mut starts = vec![0];
        for relation in 0..schema.relations().len() {
            let (rows, columns) = schema.table_shape(relation as u16);
            starts.push(starts[relation] + rows * columns);
        }
        let values = vec![0.0; starts[starts.len() - 1]];
        let relations = (0..schema.relations().len() as u16).collect();
        RelationTables { version: TableVersion::of(&values), values, starts, relations }
    }

    /// Tables of the given scores, relation by relation.
    pub(crate) fn with_values(map: &FeatureMap, values: Vec<f64>) -> Self {
        RelationTables { version: TableVersion::of(&values), values, ..RelationTables::new(map) }
    }

    /// Adds a weak learner that looks at neighbours; its values are ordered by the label of the
    /// neighbour, then of the node.
    pub(crate) fn add(&mut self, relation: u16, head: bool, values: &[f64], (outcomes, n): (usize, usize)) {
        let table =
            &mut self.values[self.starts[usize::from(relation)]..self.starts[usize::from(relation) + 1]];
        for d in 0..outcomes {
            for k in 0..n {
                table[if head { d * n + k } else { k * outcomes + d }] += values[d * n + k];
            }
        }
        self.version = TableVersion::of(&self.values);
    }

    /// Tables of a sequence whose edges have the given relations.
    pub(crate) fn tables<'a>(&'a self, relations: &'a [u32]) -> Tables<'a> {
        let of_edge = if self.starts.len() > 2 { EdgeTables::Each(relations) } else { EdgeTables::Shared };
        let RelationTables { values, starts, relations, version } = self;
        Tables { values, starts, of_edge, relations, version: *version }
    }
}

/// Relation of each edge of all sequences; empty if there is only one relation.
pub(crate) fn relations(x: &EncodedDataset) -> Vec<Vec<u32>> {
    let several = x.data().schema().relations().len() > 1;
    let edge_relations = |i| {
        let shape = x.data().shape(i);
        (0..shape.n_edges()).filter(|_| several).map(|e| u32::from(shape.relation(e))).collect()
    };
    (0..x.len()).map(edge_relations).collect()
}

/// State of LogitBoost on a dataset: scores of the labels of all nodes, messages between them, and
/// working responses (eqs. 6 to 8 of Liao et al. 2007).
pub(crate) struct NodeScores<'a> {
    x: &'a EncodedDataset,
    inference: Option<&'a dyn Inference>, // passes messages; `None` without evidence of neighbours
    sweeps: u32,
    truth: Vec<Label>, // [positions]
    relations: Vec<Vec<u32>>,
    label_offsets: Vec<usize>, // [positions + 1]
    scores: Vec<f64>,          // [labels of all nodes]
    working: Vec<Sum>,         // [labels of all nodes] w·z and w
    beliefs: Vec<f64>,         // [labels of all nodes] p(y | evidence)
    messages: Vec<Messages>,   // [sequences]
    bins: Vec<u32>,            // [positions] of the attribute being added
}

impl<'a> NodeScores<'a> {
    /// Creates scores of 0, so all labels are equally likely; `inference` passes messages, if
    /// given.
    pub(crate) fn new(
        x: &'a EncodedDataset,
        inference: Option<&'a dyn Inference>,
        sweeps: u32,
        tag: &'static str,
    ) -> Result<Self> {
        let data = x.data();
        let truth = all_labels(data, tag)?;
        refuse_foreign(data)?;
        if inference.is_some_and(|inference| inference.as_message_passing().is_none()) {
            let what = "needs an inference that passes messages, such as `belief-propagation`";
            return Err(Error::Unsupported { tag, what: what.into() });
        }
        let mut label_offsets = vec![0];
        for i in 0..data.len() {
            let shape = data.shape(i);
            inference.map_or(Ok(()), |inference| inference.supports(&shape))?;
            let start = label_offsets[label_offsets.len() - 1];
            label_offsets.extend((1..=shape.n_nodes()).map(|n| start + shape.node_offset(n)));
        }
        let n = label_offsets[label_offsets.len() - 1];
        Ok(NodeScores {
            x,
            inference,
            sweeps,
            truth,
            relations: relations(x),
            label_offsets,
            scores: vec![0.0; n],
            working: vec![Sum::default(); n],
            beliefs: vec![0.0; n],
            messages: vec![Messages::default(); data.len()],
            bins: Vec::new(),
        })
    }

    /// Working responses of position `t` of the dataset: w·z and w of each label.
    #[inline]
    pub(crate) fn working(&self, t: usize) -> &[Sum] {
        &self.working[self.label_offsets[t]..self.label_offsets[t + 1]]
    }

    /// Sum of [`NodeScores::working`] over all nodes of a kind.
    pub(crate) fn total(&self, kind: u16) -> Vec<Sum> {
        let data = self.x.data();
        let mut total = vec![Sum::default(); data.schema().n_labels(kind)];
        for i in 0..data.len() {
            let shape = data.shape(i);
            for (n, t) in data.range(i).enumerate().filter(|&(n, _)| shape.kind(n) == kind) {
                debug_assert_eq!(shape.card(n), total.len());
                total.iter_mut().zip(self.working(t)).for_each(|(total, sum)| total.add(*sum));
            }
        }
        total
    }

    /// Calls `f` with each node at the given end of edges of a relation (as a position of the
    /// dataset), its virtual evidence, and its number of edges of the relation.
    pub(crate) fn for_each_neighbour(
        &self,
        relation: u16,
        head: bool,
        mut f: impl FnMut(usize, &[f64], f64),
    ) {
        let data = self.x.data();
        for (i, messages) in self.messages.iter().enumerate() {
            let start = data.range(i).start;
            for_each_neighbour(&data.shape(i), messages, relation, head, |n, evidence, n_neighbours| {
                f(start + n, evidence, n_neighbours)
            });
        }
    }

    /// Adds a weak learner that asks about an attribute, or nothing, to the scores of nodes of its
    /// kind.
    pub(crate) fn add(&mut self, weak: &WeakLearner, attributes: &Attributes, binned: &Binned, kind: u16) {
        self.bins.clear();
        let cut = match weak.question {
            Question::Relation { .. } => return,
            Question::Nothing { .. } => {
                self.bins.resize(self.truth.len(), 0);
                None
            }
            Question::Attribute { attribute, cut } => {
                let a = attribute as usize;
                self.bins.resize(self.truth.len(), attributes.default_bin(a));
                binned.column(a).iter().for_each(|&(t, bin)| self.bins[t as usize] = bin);
                cut
            }
        };
        let data = self.x.data();
        for i in 0..data.len() {
            let shape = data.shape(i);
            for (_, t) in data.range(i).enumerate().filter(|&(n, _)| shape.kind(n) == kind) {
                let outcome = outcome(self.bins[t], cut);
                let scores = &mut self.scores[self.label_offsets[t]..self.label_offsets[t + 1]];
                let values = &weak.values[outcome * scores.len()..(outcome + 1) * scores.len()];
                scores.iter_mut().zip(values).for_each(|(score, value)| *score += value);
            }
        }
    }

    /// Centres the working responses of each label at nodes of a kind: what a constant explains is
    /// removed.
    pub(crate) fn centre(&mut self, kind: u16) {
        let (data, total) = (self.x.data(), self.total(kind));
        for i in 0..data.len() {
            let shape = data.shape(i);
            for (_, t) in data.range(i).enumerate().filter(|&(n, _)| shape.kind(n) == kind) {
                for (sum, total) in
                    self.working[self.label_offsets[t]..self.label_offsets[t + 1]].iter_mut().zip(&total)
                {
                    sum.g -= sum.h * total.g / total.h.max(f64::MIN_POSITIVE);
                }
            }
        }
    }

    /// Beliefs p(y | evidence) of the labels of all nodes.
    pub(crate) fn beliefs(&self) -> &[f64] {
        &self.beliefs
    }

    /// Calls `f` with each node at the given end of edges of a relation (as a position of the
    /// dataset), and the sum of the beliefs of its neighbours there in a label.
    pub(crate) fn for_each_count(
        &self,
        relation: u16,
        head: bool,
        label: usize,
        beliefs: &[f64],
        mut f: impl FnMut(usize, f64),
    ) {
        let data = self.x.data();
        for i in 0..data.len() {
            let start = data.range(i).start;
            let mine = &beliefs[self.label_offsets[start]..];
            for_each_count(&data.shape(i), relation, head, label, mine, |n, m| f(start + n, m));
        }
    }

    /// Scores of the labels of all nodes.
    pub(crate) fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// Replaces the scores of the labels of all nodes.
    pub(crate) fn set_scores(&mut self, scores: &[f64]) {
        self.scores.copy_from_slice(scores);
    }

    /// Adds a term of the beliefs of neighbours to the scores.
    pub(crate) fn add_neighbour_term(&mut self, term: &NeighbourTerm, beliefs: &[f64]) {
        let mut scores = std::mem::take(&mut self.scores);
        self.for_each_count(term.relation, term.head, term.label as usize, beliefs, |t, m| {
            term.add(m, &mut scores[self.label_offsets[t]..self.label_offsets[t + 1]]);
        });
        self.scores = scores;
    }

    /// Passes messages, updates beliefs and working responses, and returns the loss −Σ log p(y |
    /// evidence).
    pub(crate) fn evaluate(&mut self, tables: &RelationTables) -> Result<f64> {
        let NodeScores {
            x,
            inference,
            sweeps,
            truth,
            relations,
            label_offsets,
            scores,
            working: all_working,
            beliefs,
            messages,
            ..
        } = self;
        let data = x.data();
        let mut scores = &mut scores[..];
        let mut all_working = &mut all_working[..];
        let mut beliefs = &mut beliefs[..];
        let mut sequences = Vec::with_capacity(data.len());
        for (i, messages) in messages.iter_mut().enumerate() {
            let len = label_offsets[data.range(i).end] - label_offsets[data.range(i).start];
            sequences.push(SequenceScores {
                i,
                messages,
                scores: scores.split_off_mut(..len).unwrap_or_default(),
                working: all_working.split_off_mut(..len).unwrap_or_default(),
                beliefs: beliefs.split_off_mut(..len).unwrap_or_default(),
            });
        }
        let work = |scratch: &mut Scratch, sequence: SequenceScores<'_>| -> Result<f64> {
            let SequenceScores { i, messages, scores, working: out, beliefs } = sequence;
            let (shape, truth) = (data.shape(i), &truth[data.range(i)]);
            if let Some(passing) = inference.and_then(|inference| inference.as_message_passing()) {
                let p = Potentials::new(shape, scores, tables.tables(&relations[i]))?;
                passing.pass(&p, *sweeps, messages, scratch)?;
            }
            let mut loss = 0.0;
            let weight = data.weight(i);
            beliefs.copy_from_slice(scores);
            for (n, &truth) in truth.iter().enumerate() {
                let range = shape.node_offset(n)..shape.node_offset(n + 1);
                let p = &mut beliefs[range.clone()];
                if inference.is_some() {
                    let mu = &messages.mu[shape.message_offset(n)..shape.message_offset(n + 1)];
                    for mu in mu.chunks(p.len()) {
                        p.iter_mut().zip(mu).for_each(|(p, mu)| *p += mu.max(f64::MIN_POSITIVE).ln());
                    }
                }
                loss += weight * log_loss(p, truth);
                p[truth as usize] += 1.0;
                for (k, (out, &p)) in out[range].iter_mut().zip(&*p).enumerate() {
                    *out = working(p.clamp(0.0, 1.0), k == truth as usize, weight);
                }
            }
            Ok(loss)
        };
        let losses = sequences.into_par_iter().map_init(Scratch::new, |scratch, sequence| {
            let i = sequence.i;
            work(scratch, sequence).map_err(|error| error.at(format!("sequence {}", i + 1)))
        });
        losses.collect::<Vec<Result<f64>>>().into_iter().sum()
    }

    #[cfg(test)]
    pub(crate) fn messages_mut(&mut self) -> &mut [Messages] {
        &mut self.messages
    }
}

/// Scores of one sequence.
struct SequenceScores<'a> {
    i: usize,
    messages: &'a mut Messages,
    scores: &'a mut [f64],
    working: &'a mut [Sum],
    beliefs: &'a mut [f64],
}

/// Outcome of a question about a bin: below the cut or not, or the bin itself.
#[inline]
pub(crate) fn outcome(bin: u32, cut: Option<u32>) -> usize {
    cut.map_or(bin as usize, |cut| usize::from(bin >= cut))
}

/// Relations that there is a transition feature for.
pub(crate) fn modelled_relations(map: &FeatureMap) -> impl Iterator<Item = u16> + '_ {
    let features = map.transition();
    let is_modelled = |relation: &u16| {
        (0..features.n_observations() as u32)
            .any(|g| features.scope(g) == *relation && !features.targets(g).is_empty())
    };
    (0..map.schema().relations().len() as u16).filter(is_modelled)
}

/// Working response of LogitBoost as w·z and w, for a label with probability `p`, which is the true
/// one or not: w = p(1 − p) and z = (1[y = k] − p)/w, at most 4 in size.
pub(crate) fn working(p: f64, right: bool, weight: f64) -> Sum {
    let w = (p * (1.0 - p)).max(2.0 * f64::EPSILON);
    let z = if right { p.recip().min(4.0) } else { -(1.0 - p).recip().min(4.0) };
    Sum { g: weight * w * z, h: weight * w }
}

/// Calls `f` with each node at the given end of edges of a relation, the message of the node at the
/// other end about itself, and the number of edges of the relation that the node has.
///
/// All of these share the table of the relation, so what one of them adds to the scores of the node
/// is added by each. With C of them the squared error is (Σ_d c_d α_d − z)² with Σ_d c_d = C, which
/// is at most Σ_d (c_d/C) (C α_d − z)²; that is least for α_d = Σ w z c_d / Σ w c_d C. With one
/// neighbour this is eq. 9 of Liao et al. (2007). Eq. 9 itself goes C times too far for C
/// neighbours that say the same, and does not converge on graphs with several relations.
pub(crate) fn for_each_neighbour(
    shape: &Shape<'_>,
    messages: &Messages,
    relation: u16,
    head: bool,
    mut f: impl FnMut(usize, &[f64], f64),
) {
    for n in 0..shape.n_nodes() {
        let is_of_relation = |k: &usize| shape.relation(shape.incidence(n, *k).edge as usize) == relation;
        let n_neighbours = (0..shape.degree(n)).filter(is_of_relation).count() as f64;
        for k in (0..shape.degree(n)).filter(is_of_relation) {
            if shape.incidence(n, k).is_head == head {
                f(n, messages.evidence(shape, n, k), n_neighbours);
            }
        }
    }
}

/// Linear function of the sum of the beliefs of neighbours in one label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct NeighbourTerm {
    /// Relation of the neighbours.
    pub(crate) relation: u16,
    /// True if heads of edges are scored by tails, false for the other way round.
    pub(crate) head: bool,
    /// Label of the neighbours.
    pub(crate) label: Label,
    pub(crate) slopes: Vec<f64>,    // [labels]
    pub(crate) constants: Vec<f64>, // [labels]
}

impl NeighbourTerm {
    /// Adds the function to the scores of a node; `m` is the sum of the beliefs of its neighbours.
    pub(crate) fn add(&self, m: f64, scores: &mut [f64]) {
        for ((score, slope), constant) in scores.iter_mut().zip(&self.slopes).zip(&self.constants) {
            *score += slope * m + constant;
        }
    }
}

/// Adds a term to a sum of terms: those of the same beliefs become one, so that a sum has no more
/// terms than there are labels at the ends of relations, however many rounds it is of.
pub(crate) fn merge_term(terms: &mut Vec<NeighbourTerm>, term: &NeighbourTerm) {
    let key = |term: &NeighbourTerm| (term.relation, term.head, term.label);
    match terms.iter_mut().find(|other| key(other) == key(term)) {
        None => terms.push(term.clone()),
        Some(same) => {
            let add =
                |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
            add(&mut same.slopes, &term.slopes);
            add(&mut same.constants, &term.constants);
        }
    }
}

/// Calls `f` with each node at the given end of edges of a relation, and the sum of the beliefs of
/// its neighbours there in a label.
pub(crate) fn for_each_count(
    shape: &Shape<'_>,
    relation: u16,
    head: bool,
    label: usize,
    beliefs: &[f64],
    mut f: impl FnMut(usize, f64),
) {
    for n in 0..shape.n_nodes() {
        let ends = (0..shape.degree(n)).map(|k| shape.incidence(n, k));
        let mut edges =
            ends.filter(|end| end.is_head == head && shape.relation(end.edge as usize) == relation);
        if let Some(first) = edges.next() {
            let belief = |other: u32| beliefs[shape.node_offset(other as usize) + label];
            f(n, edges.fold(belief(first.other), |sum, end| sum + belief(end.other)));
        }
    }
}
