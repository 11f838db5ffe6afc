use crf_core::{
    EdgeTables, EncodedDataset, Error, FeatureMap, Inference, Label, Messages, Potentials, Result, Scratch,
    Shape, Tables,
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
    pub(crate) values: Vec<f64>,   // one behind the other
    pub(crate) starts: Vec<usize>, // [relations + 1]
    version: u64,
}

impl RelationTables {
    /// Tables that tie nothing.
    pub(crate) fn new(map: &FeatureMap) -> Self {
        let (schema, mut starts) = (map.schema(), vec![0]);
        for relation in 0..schema.relations().len() {
            let (rows, columns) = schema.table_shape(relation as u16);
            starts.push(starts[relation] + rows * columns);
        }
        RelationTables { values: vec![0.0; starts[starts.len() - 1]], starts, version: Tables::new_version() }
    }

    /// Adds a weak learner that looks at neighbours; its values stand by the neighbour's label and then the node's own.
    pub(crate) fn add(&mut self, relation: u16, head: bool, values: &[f64], (outcomes, n): (usize, usize)) {
        let table =
            &mut self.values[self.starts[usize::from(relation)]..self.starts[usize::from(relation) + 1]];
        for d in 0..outcomes {
            for k in 0..n {
                table[if head { d * n + k } else { k * outcomes + d }] += values[d * n + k];
            }
        }
        self.version = Tables::new_version();
    }

    /// The tables of a sequence whose edges have the given relations.
    pub(crate) fn of<'a>(&'a self, relations: &'a [u32]) -> Tables<'a> {
        let of_edge = if self.starts.len() > 2 { EdgeTables::Each(relations) } else { EdgeTables::Shared };
        Tables { values: &self.values, starts: &self.starts, of_edge, version: self.version }
    }
}

/// The relation of each edge of all sequences; empty where there is one relation alone.
pub(crate) fn relations(x: &EncodedDataset) -> Vec<Vec<u32>> {
    let several = x.data().schema().relations().len() > 1;
    let of = |i| {
        let shape = x.data().shape(i);
        (0..shape.n_edges()).filter(|_| several).map(|e| u32::from(shape.relation(e))).collect()
    };
    (0..x.len()).map(of).collect()
}

/// Scores of the labels of all nodes, messages between them, and what LogitBoost works on: eqs. 6 to 8 of Liao et al. (2007).
pub(crate) struct NodeScores<'a> {
    x: &'a EncodedDataset,
    inference: Option<&'a dyn Inference>, // what passes messages, if any are wanted
    sweeps: u32,
    truth: Vec<Label>, // [positions]
    relations: Vec<Vec<u32>>,
    at: Vec<usize>,          // [positions + 1] where a node's labels start
    scores: Vec<f64>,        // [labels of all nodes]
    working: Vec<Sum>,       // [labels of all nodes] w·z and w
    beliefs: Vec<f64>,       // [labels of all nodes] p(y | evidence)
    messages: Vec<Messages>, // [sequences]
    bins: Vec<u32>,          // [positions] of one attribute
}

impl<'a> NodeScores<'a> {
    /// A field in which all labels are equally likely; `inference` passes messages unless it is left out.
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
        let mut at = vec![0];
        for i in 0..data.len() {
            let shape = data.shape(i);
            inference.map_or(Ok(()), |inference| inference.supports(&shape))?;
            let start = at[at.len() - 1];
            at.extend((1..=shape.n_nodes()).map(|n| start + shape.node_offset(n)));
        }
        let n = at[at.len() - 1];
        Ok(NodeScores {
            x,
            inference,
            sweeps,
            truth,
            relations: relations(x),
            at,
            scores: vec![0.0; n],
            working: vec![Sum::default(); n],
            beliefs: vec![0.0; n],
            messages: vec![Messages::default(); data.len()],
            bins: Vec::new(),
        })
    }

    /// What LogitBoost works on at position `t` of all positions: w·z and w of each label.
    #[inline]
    pub(crate) fn working(&self, t: usize) -> &[Sum] {
        &self.working[self.at[t]..self.at[t + 1]]
    }

    /// The sum of [`NodeScores::working`] over all nodes of a kind.
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

    /// Calls `see` with each node at the given end of a relation's edges, among all positions, its virtual evidence, and how many
    /// edges of the relation it has.
    pub(crate) fn for_each_neighbour(
        &self,
        relation: u16,
        head: bool,
        mut see: impl FnMut(usize, &[f64], f64),
    ) {
        let data = self.x.data();
        for (i, messages) in self.messages.iter().enumerate() {
            let start = data.range(i).start;
            for_each_neighbour(&data.shape(i), messages, relation, head, |n, evidence, ties| {
                see(start + n, evidence, ties)
            });
        }
    }

    /// Adds a weak learner that looks at an attribute, or at nothing, to the scores of nodes of its kind.
    pub(crate) fn add(&mut self, weak: &WeakLearner, attributes: &Attributes, binned: &Binned, kind: u16) {
        self.bins.clear();
        let cut = match weak.looks {
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
                let scores = &mut self.scores[self.at[t]..self.at[t + 1]];
                let values = &weak.values[outcome * scores.len()..(outcome + 1) * scores.len()];
                scores.iter_mut().zip(values).for_each(|(score, value)| *score += value);
            }
        }
    }

    /// Takes the mean of each label off what there is to work on at nodes of a kind: what a constant explains is explained.
    pub(crate) fn centre(&mut self, kind: u16) {
        let (data, total) = (self.x.data(), self.total(kind));
        for i in 0..data.len() {
            let shape = data.shape(i);
            for (_, t) in data.range(i).enumerate().filter(|&(n, _)| shape.kind(n) == kind) {
                for (sum, total) in self.working[self.at[t]..self.at[t + 1]].iter_mut().zip(&total) {
                    sum.g -= sum.h * total.g / total.h.max(f64::MIN_POSITIVE);
                }
            }
        }
    }

    /// p(y | evidence) of the labels of all nodes.
    pub(crate) fn beliefs(&self) -> &[f64] {
        &self.beliefs
    }

    /// Calls `see` with each node at the given end of a relation's edges, among all positions, and how much its neighbours there
    /// believe in a label.
    pub(crate) fn for_each_count(
        &self,
        relation: u16,
        head: bool,
        label: usize,
        beliefs: &[f64],
        mut see: impl FnMut(usize, f64),
    ) {
        let data = self.x.data();
        for i in 0..data.len() {
            let start = data.range(i).start;
            let mine = &beliefs[self.at[start]..];
            for_each_count(&data.shape(i), relation, head, label, mine, |n, m| see(start + n, m));
        }
    }

    /// Adds a function of the neighbours' beliefs to the scores.
    pub(crate) fn add_tie(&mut self, tie: &NeighbourTerm, beliefs: &[f64]) {
        let mut scores = std::mem::take(&mut self.scores);
        self.for_each_count(tie.relation, tie.head, tie.label as usize, beliefs, |t, m| {
            tie.add(m, &mut scores[self.at[t]..self.at[t + 1]]);
        });
        self.scores = scores;
    }

    /// Passes messages, and gives −Σ log p(y | evidence), after which the field knows what to work on.
    pub(crate) fn evaluate(&mut self, tables: &RelationTables) -> Result<f64> {
        let NodeScores {
            x,
            inference,
            sweeps,
            truth,
            relations,
            at,
            scores,
            working: all,
            beliefs,
            messages,
            ..
        } = self;
        let data = x.data();
        let (mut left_scores, mut left, mut left_beliefs) = (&mut scores[..], &mut all[..], &mut beliefs[..]);
        let mut pieces = Vec::with_capacity(data.len());
        for (i, messages) in messages.iter_mut().enumerate() {
            let len = at[data.range(i).end] - at[data.range(i).start];
            let (scores, working, beliefs);
            (scores, left_scores) = left_scores.split_at_mut(len);
            (working, left) = left.split_at_mut(len);
            (beliefs, left_beliefs) = left_beliefs.split_at_mut(len);
            pieces.push(Piece { i, messages, scores, working, beliefs });
        }
        let work = |scratch: &mut Scratch, piece: Piece<'_>| -> Result<f64> {
            let Piece { i, messages, scores, working: out, beliefs } = piece;
            let (shape, truth) = (data.shape(i), &truth[data.range(i)]);
            if let Some(passing) = inference.and_then(|inference| inference.as_message_passing()) {
                let p = Potentials::new(shape, scores, tables.of(&relations[i]))?;
                passing.pass(&p, *sweeps, messages, scratch)?;
            }
            let (mut loss, weight) = (0.0, data.weight(i));
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
        let losses = pieces.into_par_iter().map_init(Scratch::new, |scratch, piece| {
            let i = piece.i;
            work(scratch, piece).map_err(|error| error.at(format!("sequence {}", i + 1)))
        });
        losses.collect::<Vec<Result<f64>>>().into_iter().sum()
    }

    #[cfg(test)]
    pub(crate) fn messages_mut(&mut self) -> &mut [Messages] {
        &mut self.messages
    }
}

/// What belongs to one sequence.
struct Piece<'a> {
    i: usize,
    messages: &'a mut Messages,
    scores: &'a mut [f64],
    working: &'a mut [Sum],
    beliefs: &'a mut [f64],
}

/// What a bin is to a weak learner: below the cut or not, or itself.
#[inline]
pub(crate) fn outcome(bin: u32, cut: Option<u32>) -> usize {
    cut.map_or(bin as usize, |cut| usize::from(bin >= cut))
}

/// The relations that there is a transition feature for.
pub(crate) fn tied(map: &FeatureMap) -> impl Iterator<Item = u16> + '_ {
    let links = map.transition();
    let tied = |relation: &u16| {
        (0..links.n_observations() as u32)
            .any(|g| links.owner(g) == *relation && !links.targets(g).is_empty())
    };
    (0..map.schema().relations().len() as u16).filter(tied)
}

/// The working response of LogitBoost as w·z and w, for a label that is the true one or not and has probability `p`: w = p(1 − p)
/// and z = (1[y = k] − p)/w, at most 4 in size.
pub(crate) fn working(p: f64, right: bool, weight: f64) -> Sum {
    let w = (p * (1.0 - p)).max(2.0 * f64::EPSILON);
    let z = if right { p.recip().min(4.0) } else { -(1.0 - p).recip().min(4.0) };
    Sum { g: weight * w * z, h: weight * w }
}

/// Calls `see` with each node of the given end of a relation's edges, what the other end tells about itself, and how many edges of
/// the relation the node has.
///
/// All of these share the relation's table, so what one of them adds to the node's scores is added by each. With C of them the
/// squared error is (Σ_d c_d α_d − z)² with Σ_d c_d = C, which is at most Σ_d (c_d/C) (C α_d − z)²; that is least for
/// α_d = Σ w z c_d / Σ w c_d C. With one neighbour this is eq. 9 of Liao et al. (2007). Eq. 9 itself goes C times too far for
/// C neighbours that say the same, and does not settle down on graphs with several relations.
pub(crate) fn for_each_neighbour(
    shape: &Shape<'_>,
    messages: &Messages,
    relation: u16,
    head: bool,
    mut see: impl FnMut(usize, &[f64], f64),
) {
    for n in 0..shape.n_nodes() {
        let mine = |k: &usize| shape.relation(shape.incidence(n, *k).edge as usize) == relation;
        let ties = (0..shape.degree(n)).filter(mine).count() as f64;
        for k in (0..shape.degree(n)).filter(mine) {
            if shape.incidence(n, k).is_head == head {
                see(n, messages.evidence(shape, n, k), ties);
            }
        }
    }
}

/// A linear function of the beliefs that neighbours have in one label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct NeighbourTerm {
    pub(crate) relation: u16,
    /// Whether it is for the heads of edges.
    pub(crate) head: bool,
    /// The neighbours' label.
    pub(crate) label: Label,
    pub(crate) slopes: Vec<f64>,    // [labels]
    pub(crate) constants: Vec<f64>, // [labels]
}

impl NeighbourTerm {
    /// Adds the function to the scores of a node whose neighbours believe in the label `m` times.
    pub(crate) fn add(&self, m: f64, scores: &mut [f64]) {
        for ((score, slope), constant) in scores.iter_mut().zip(&self.slopes).zip(&self.constants) {
            *score += slope * m + constant;
        }
    }
}

/// Calls `see` with each node that is at the given end of a relation's edges, and how much its neighbours there believe in a label.
pub(crate) fn for_each_count(
    shape: &Shape<'_>,
    relation: u16,
    head: bool,
    label: usize,
    beliefs: &[f64],
    mut see: impl FnMut(usize, f64),
) {
    for n in 0..shape.n_nodes() {
        let ends = (0..shape.degree(n)).map(|k| shape.incidence(n, k));
        let mut mine =
            ends.filter(|end| end.is_head == head && shape.relation(end.edge as usize) == relation);
        if let Some(first) = mine.next() {
            let belief = |other: u32| beliefs[shape.node_offset(other as usize) + label];
            see(n, mine.fold(belief(first.other), |sum, end| sum + belief(end.other)));
        }
    }
}
