use crf_core::{FeatureMap, Messages, Result, Shape};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::boosting::node_scores::NodeScores;
use crate::boosting::trees::{Attributes, Binned, Sum};

/// What a weak learner looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Question {
    /// At nothing: what all nodes of a kind have in common.
    Nothing {
        /// The kind.
        kind: u16,
    },
    /// At an attribute of the position: whether it is below a cut, or which symbol it is.
    Attribute {
        /// Its number.
        attribute: u32,
        /// Which cut, of a number.
        cut: Option<u32>,
    },
    /// At the labels of the neighbours by a relation.
    Relation {
        /// Its number.
        relation: u16,
        /// Whether it is for the heads of edges, which look at tails, or the other way round.
        head: bool,
    },
}

/// A weak learner: a value for each label at each outcome of what it looks at.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WeakLearner {
    pub(crate) looks: Question,
    /// By how much it lowers the weighted squared error.
    pub(crate) gain: f64,
    /// Outcome, then label.
    pub(crate) values: Vec<f64>,
}

/// Everything weak learners can look at.
pub(crate) struct CandidatePool<'a> {
    pub(crate) attributes: &'a Attributes,
    pub(crate) binned: &'a Binned,
    pub(crate) map: &'a FeatureMap,
    /// Relations with their ends.
    pub(crate) ends: Vec<(u16, bool)>,
}

/// The relations that there is a transition feature for.
pub(crate) fn tied(map: &FeatureMap) -> impl Iterator<Item = u16> + '_ {
    let links = map.transition();
    let tied = |relation: &u16| {
        (0..links.n_observations() as u32)
            .any(|g| links.scope(g) == *relation && !links.targets(g).is_empty())
    };
    (0..map.schema().relations().len() as u16).filter(tied)
}

impl<'a> CandidatePool<'a> {
    /// All attributes, and the relations that there is a transition feature for.
    pub(crate) fn new(
        attributes: &'a Attributes,
        binned: &'a Binned,
        map: &'a FeatureMap,
        relations: bool,
    ) -> Self {
        let all = tied(map).filter(|_| relations);
        CandidatePool { attributes, binned, map, ends: all.flat_map(|r| [(r, true), (r, false)]).collect() }
    }

    /// How many labels those have who are looked at, and those who look.
    pub(crate) fn sides(&self, looks: Question) -> (usize, usize) {
        let schema = self.map.schema();
        match looks {
            Question::Nothing { kind } => (1, schema.n_labels(kind)),
            Question::Attribute { attribute, cut } => {
                let a = attribute as usize;
                let outcomes = if cut.is_some() { 2 } else { self.attributes.n_bins(a) };
                (outcomes, schema.n_labels(self.attributes.kind(a, self.map.state())))
            }
            Question::Relation { relation, head } => self.end_sides(relation, head),
        }
    }

    /// How many labels the others of a relation's end have, and how many it has itself.
    pub(crate) fn end_sides(&self, relation: u16, head: bool) -> (usize, usize) {
        let (tails, heads) = self.map.schema().table_shape(relation);
        if head { (tails, heads) } else { (heads, tails) }
    }

    /// The kind of node that looks at an attribute.
    pub(crate) fn kind(&self, looks: Question) -> u16 {
        match looks {
            Question::Nothing { kind } => kind,
            Question::Attribute { attribute, .. } => {
                self.attributes.kind(attribute as usize, self.map.state())
            }
            Question::Relation { relation, head } => {
                let relation = &self.map.schema().relations()[usize::from(relation)];
                if head { relation.head } else { relation.tail }
            }
        }
    }

    /// The weak learner with the least weighted squared error, by the sums of eq. 9 of Liao et al. (2007); `None` when there is
    /// nothing to look at.
    pub(crate) fn best(&self, field: &NodeScores<'_>) -> Option<WeakLearner> {
        let totals: Vec<Vec<Sum>> =
            (0..self.map.schema().kinds().len()).map(|kind| field.total(kind as u16)).collect();
        let local = (0..self.attributes.len()).into_par_iter().map(|a| self.attribute(a, field, &totals));
        let neighbours = self.ends.par_iter().map(|&(relation, head)| self.relation(relation, head, field));
        let all: Vec<WeakLearner> = local.chain(neighbours).collect();
        // Of equals the first.
        all.into_iter().reduce(|best, next| if next.gain > best.gain { next } else { best })
    }

    /// What all nodes of a kind have in common; weak learners that come after it are not chosen for that.
    pub(crate) fn constant(&self, kind: u16, field: &NodeScores<'_>) -> WeakLearner {
        let total = field.total(kind);
        WeakLearner::new(Question::Nothing { kind }, &total, total.len())
    }

    fn attribute(&self, a: usize, field: &NodeScores<'_>, totals: &[Vec<Sum>]) -> WeakLearner {
        let total = &totals[usize::from(self.attributes.kind(a, self.map.state()))];
        let (n_bins, n) = (self.attributes.n_bins(a), total.len());
        let mut sums = vec![Sum::default(); n_bins * n];
        for &(t, bin) in self.binned.column(a) {
            let bin = &mut sums[bin as usize * n..(bin as usize + 1) * n];
            bin.iter_mut().zip(field.working(t as usize)).for_each(|(bin, sum)| bin.add(*sum));
        }
        let default = self.attributes.default_bin(a) as usize;
        for k in 0..n {
            let mut listed = Sum::default();
            (0..n_bins).for_each(|bin| listed.add(sums[bin * n + k]));
            sums[default * n + k] = total[k].minus(listed);
        }
        let attribute = a as u32;
        if !self.attributes.is_number(a) {
            return WeakLearner::new(Question::Attribute { attribute, cut: None }, &sums, n);
        }
        // The best cut for all labels together.
        let mut sides = vec![Sum::default(); 2 * n];
        sides[n..].copy_from_slice(total);
        let mut best = WeakLearner::new(Question::Attribute { attribute, cut: Some(0) }, &sides, n);
        for cut in 1..n_bins {
            for k in 0..n {
                let bin = sums[(cut - 1) * n + k];
                sides[k].add(bin);
                sides[n + k] = sides[n + k].minus(bin);
            }
            if worth(&sides) > best.gain {
                best = WeakLearner::new(Question::Attribute { attribute, cut: Some(cut as u32) }, &sides, n);
            }
        }
        best
    }

    fn relation(&self, relation: u16, head: bool, field: &NodeScores<'_>) -> WeakLearner {
        let looks = Question::Relation { relation, head };
        let (outcomes, n) = self.sides(looks);
        let mut sums = vec![Sum::default(); outcomes * n];
        field.for_each_neighbour(relation, head, |t, evidence, ties| {
            for (d, &c) in evidence.iter().enumerate() {
                for (out, sum) in sums[d * n..(d + 1) * n].iter_mut().zip(field.working(t)) {
                    out.add(Sum { g: c * sum.g, h: c * ties * sum.h });
                }
            }
        });
        WeakLearner::new(looks, &sums, n)
    }
}

impl WeakLearner {
    /// The weak learner whose values minimise the weighted squared error, given Σ w z c and Σ w c of each outcome and label.
    fn new(looks: Question, sums: &[Sum], n_labels: usize) -> Self {
        let mut values: Vec<f64> =
            sums.iter().map(|sum| if sum.h > LEAST { sum.g / sum.h } else { 0.0 }).collect();
        symmetrise(&mut values, n_labels);
        WeakLearner { looks, gain: worth(sums), values }
    }
}

/// Sums below this are rounding.
const LEAST: f64 = 1e-9;

/// By how much the best values lower the error: Σ (Σ w z c)² / Σ w c.
fn worth(sums: &[Sum]) -> f64 {
    sums.iter().map(|sum| if sum.h > LEAST { sum.g * sum.g / sum.h } else { 0.0 }).sum()
}

/// f_k ← (K − 1)/K · (f_k − mean of f), for each outcome (Friedman, Hastie & Tibshirani 2000, algorithm 6).
pub(crate) fn symmetrise(values: &mut [f64], n_labels: usize) {
    let n = n_labels as f64;
    for values in values.chunks_mut(n_labels) {
        let mean = values.iter().sum::<f64>() / n;
        values.iter_mut().for_each(|value| *value = (n - 1.0) / n * (*value - mean));
    }
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

/// Refuses what has no finite values.
pub(crate) fn finite(weak: WeakLearner, round: u32) -> Result<WeakLearner> {
    if weak.values.iter().all(|value| value.is_finite()) {
        return Ok(weak);
    }
    Err(crf_core::Error::NotFinite(format!("a value of the weak learner of round {round}")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::boosting::node_scores::RelationTables;
    use crf_core::Messages;
    use crf_testing::problems::{Draw, Encoded, data};

    /// Neighbours that are certain of what they are count as a symbol does: eq. 9 has no second case.
    #[test]
    fn deterministic_evidence_is_an_attribute() {
        // Of two, so that nobody has more than one neighbour.
        let draw = Draw { sequences: 60, length: 2, labels: 3, unlabelled: 0, seed: 1 };
        let features = r#"["transition", {"state": {"type": "lag", "by": [1], "of": "equals"}}]"#;
        let encoded = Encoded::new(features, data(&draw));
        let (map, x) = (&encoded.map, &encoded.corpus);
        let attributes = Attributes::new(map.state(), x, 64);
        let binned = Binned::new(&attributes, x);
        let pool = CandidatePool::new(&attributes, &binned, map, true);
        let mut field = NodeScores::new(x, None, 1, "test").unwrap();
        // Everybody tells the next one what word it saw.
        for i in 0..x.len() {
            let shape = x.data().shape(i);
            let words = x.data().sequence(i).symbol(2);
            let mut messages = Messages::default();
            messages.lambda.resize(shape.message_offset(shape.n_nodes()), 0.0);
            for n in 1..shape.n_nodes() {
                messages.lambda[shape.incidence(n, 0).opposite + words[n - 1] as usize] = 1.0;
            }
            field.messages_mut()[i] = messages;
        }
        let mut tables = RelationTables::new(map);
        for _ in 0..5 {
            field.evaluate(&tables).unwrap();
            let by_word = pool.attribute(0, &field, &[field.total(0)]);
            let by_neighbour = pool.relation(0, true, &field);
            for (a, b) in by_word.values[3..].iter().zip(&by_neighbour.values) {
                assert!((a - b).abs() < 1e-12, "{by_word:?} vs {by_neighbour:?}");
            }
            // First positions have no neighbour, which is an outcome of the attribute only.
            let mut first = vec![Sum::default(); 3];
            for i in (0..x.len()).filter(|&i| !x.data().range(i).is_empty()) {
                let working = field.working(x.data().range(i).start);
                first.iter_mut().zip(working).for_each(|(first, sum)| first.add(*sum));
            }
            assert!((by_word.gain - by_neighbour.gain - worth(&first)).abs() < 1e-9);
            field.add(&by_word, &attributes, &binned, 0);
            tables.add(0, true, &by_neighbour.values, (3, 3));
        }
    }
}
