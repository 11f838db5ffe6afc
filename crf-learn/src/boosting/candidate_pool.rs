use crf_core::FeatureMap;
use rayon::prelude::*;

use crate::boosting::node_scores::{NodeScores, modelled_relations};
use crate::boosting::trees::{Attributes, Binned, Sum};
use crate::boosting::weak_learner::{Question, WeakLearner, gain};

/// Pool of all questions that weak learners may ask.
pub(crate) struct CandidatePool<'a> {
    pub(crate) attributes: &'a Attributes,
    pub(crate) binned: &'a Binned,
    pub(crate) map: &'a FeatureMap,
    /// Relations with their ends: true for heads.
    pub(crate) ends: Vec<(u16, bool)>,
}

impl<'a> CandidatePool<'a> {
    /// All attributes, and with `relations` the relations that there is a transition feature for.
    pub(crate) fn new(
        attributes: &'a Attributes,
        binned: &'a Binned,
        map: &'a FeatureMap,
        relations: bool,
    ) -> Self {
        let all = modelled_relations(map).filter(|_| relations);
        CandidatePool { attributes, binned, map, ends: all.flat_map(|r| [(r, true), (r, false)]).collect() }
    }

    /// Shape of a weak learner: outcomes of the question, and labels of the node being scored.
    pub(crate) fn shape(&self, question: Question) -> (usize, usize) {
        let schema = self.map.schema();
        match question {
            Question::Nothing { kind } => (1, schema.n_labels(kind)),
            Question::Attribute { attribute, cut } => {
                let a = attribute as usize;
                let outcomes = if cut.is_some() { 2 } else { self.attributes.n_bins(a) };
                (outcomes, schema.n_labels(self.attributes.kind(a, self.map.state())))
            }
            Question::Relation { relation, head } => self.end_shape(relation, head),
        }
    }

    /// Shape of a question about one end of a relation: labels at the other end, and at this one.
    pub(crate) fn end_shape(&self, relation: u16, head: bool) -> (usize, usize) {
        let (tails, heads) = self.map.schema().table_shape(relation);
        if head { (tails, heads) } else { (heads, tails) }
    }

    /// Kind of node that a question scores.
    pub(crate) fn kind(&self, question: Question) -> u16 {
        match question {
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

    /// Weak learner with the least weighted squared error, by the sums of eq. 9 of Liao et al.
    /// (2007); `None` if the pool is empty.
    pub(crate) fn best(&self, scores: &NodeScores<'_>) -> Option<WeakLearner> {
        let totals: Vec<Vec<Sum>> =
            (0..self.map.schema().kinds().len()).map(|kind| scores.total(kind as u16)).collect();
        let local = (0..self.attributes.len()).into_par_iter().map(|a| self.attribute(a, scores, &totals));
        let neighbours = self.ends.par_iter().map(|&(relation, head)| self.relation(relation, head, scores));
        let all: Vec<WeakLearner> = local.chain(neighbours).collect();
        // The first of equals.
        all.into_iter().reduce(|best, next| if next.gain > best.gain { next } else { best })
    }

    /// Best constant of a kind; weak learners that follow are not chosen for what all nodes have in
    /// common.
    pub(crate) fn constant(&self, kind: u16, scores: &NodeScores<'_>) -> WeakLearner {
        let total = scores.total(kind);
        WeakLearner::new(Question::Nothing { kind }, &total, total.len())
    }

    fn attribute(&self, a: usize, scores: &NodeScores<'_>, totals: &[Vec<Sum>]) -> WeakLearner {
        let total = &totals[usize::from(self.attributes.kind(a, self.map.state()))];
        let (n_bins, n) = (self.attributes.n_bins(a), total.len());
        let mut sums = vec![Sum::default(); n_bins * n];
        for &(t, bin) in self.binned.column(a) {
            let bin = &mut sums[bin as usize * n..(bin as usize + 1) * n];
            bin.iter_mut().zip(scores.working(t as usize)).for_each(|(bin, sum)| bin.add(*sum));
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
            if gain(&sides) > best.gain {
                best = WeakLearner::new(Question::Attribute { attribute, cut: Some(cut as u32) }, &sides, n);
            }
        }
        best
    }

    fn relation(&self, relation: u16, head: bool, scores: &NodeScores<'_>) -> WeakLearner {
        let question = Question::Relation { relation, head };
        let (outcomes, n) = self.shape(question);
        let mut sums = vec![Sum::default(); outcomes * n];
        scores.for_each_neighbour(relation, head, |t, evidence, n_neighbours| {
            for (d, &c) in evidence.iter().enumerate() {
                for (out, sum) in sums[d * n..(d + 1) * n].iter_mut().zip(scores.working(t)) {
                    out.add(Sum { g: c * sum.g, h: c * n_neighbours * sum.h });
                }
            }
        });
        WeakLearner::new(question, &sums, n)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::boosting::node_scores::RelationTables;
    use crf_core::Messages;
    use crf_testing::problems::{Draw, Encoded, data};

    /// Neighbours that are certain of what they are count as a symbol does: eq. 9 has no second
    /// case.
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
        let mut scores = NodeScores::new(x, None, 1, "test").unwrap();
        // Everybody tells the next one what word it saw.
        for i in 0..x.len() {
            let shape = x.data().shape(i);
            let words = x.data().sequence(i).symbol(2);
            let mut messages = Messages::default();
            messages.lambda.resize(shape.message_offset(shape.n_nodes()), 0.0);
            for n in 1..shape.n_nodes() {
                messages.lambda[shape.incidence(n, 0).opposite + words[n - 1] as usize] = 1.0;
            }
            scores.messages_mut()[i] = messages;
        }
        let mut tables = RelationTables::new(map);
        for _ in 0..5 {
            scores.evaluate(&tables).unwrap();
            let by_word = pool.attribute(0, &scores, &[scores.total(0)]);
            let by_neighbour = pool.relation(0, true, &scores);
            for (a, b) in by_word.values[3..].iter().zip(&by_neighbour.values) {
                assert!((a - b).abs() < 1e-12, "{by_word:?} vs {by_neighbour:?}");
            }
            // First positions have no neighbour, which is an outcome of the attribute only.
            let mut first = vec![Sum::default(); 3];
            for i in (0..x.len()).filter(|&i| !x.data().range(i).is_empty()) {
                let working = scores.working(x.data().range(i).start);
                first.iter_mut().zip(working).for_each(|(first, sum)| first.add(*sum));
            }
            assert!((by_word.gain - by_neighbour.gain - gain(&first)).abs() < 1e-9);
            scores.add(&by_word, &attributes, &binned, 0);
            tables.add(0, true, &by_neighbour.values, (3, 3));
        }
    }
}
