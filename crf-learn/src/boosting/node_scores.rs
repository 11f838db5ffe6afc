use crf_core::{
    EdgeTables, EncodedDataset, Error, FeatureMap, Inference, Label, Messages, Potentials, Result, Scratch,
    Tables,
};
use rayon::prelude::*;

use crate::boosting::boosted_random_field::model::{NeighbourTerm, for_each_count};
use crate::boosting::trees::{Attributes, Binned, Sum};
use crate::boosting::weak_learner::{Question, WeakLearner, for_each_neighbour, working};
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
