//! Search for possible labellings, and their improvement label by label.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crf_core::{Error, Incidence, Label, Potentials, Result};

use crate::errors::impossible;
use crate::graph::exact::clique_tree::{CliqueTables, CliqueTree};
use crate::graph::exact::elimination::Elimination;
use crate::log_domain::best_label;
use crate::shifted::Shifted;

/// Labels that the search tries in one part before it asks for a clique tree, and before it gives
/// up.
const MAX_TRIES: [usize; 2] = [10_000, 1_000_000];
/// Entries of the tables of that clique tree: one GiB.
const MAX_ENTRIES: f64 = (1 << 27) as f64;
/// Depth at which no label excludes this one.
const POSSIBLE: u32 = u32::MAX;

/// Search for a labelling of finite score, and for a better one beside it.
///
/// Potentials are arc consistent when they come here (`possible_labels.rs`), so only nodes that
/// have a choice and whose edges forbid some pair need a search. Each connected part of them is
/// searched by itself, by forward checking with conflict-directed backjumping (Prosser 1993): a
/// label excludes those of the neighbours that may not stand beside it, and where a node has no
/// label left, the search goes back to the last node that had to do with it. Of the nodes beside
/// those labelled, the one with the fewest labels is next; on a forest no step back is ever needed.
/// Labels are tried best first, given the labels so far.
///
/// Where many labels have been tried in vain, dynamic programming decides, if the graph has a
/// clique tree of ordinary size. So what the junction tree can answer is never given up.
#[derive(Debug, Default)]
pub(crate) struct LabellingSearch {
    is_labelled: Vec<bool>,                 // [nodes]
    excluded_at: Vec<u32>, // [nodes × labels] depth whose label excludes this one, from 1; 0 for ever
    n_left: Vec<u32>,      // [nodes] number of labels not excluded
    n_labelled_neighbours: Vec<u32>, // [nodes] in the part
    excluded: Vec<(u32, usize)>, // node and offset of the labels excluded so far
    queue: BinaryHeap<Reverse<(u32, u32)>>, // (labels left, node) of nodes beside those labelled
    scores: Vec<f64>,      // [labels] of one node
}

/// A node that is being labelled.
#[derive(Debug)]
struct Level {
    node: usize,
    untried: Vec<Label>,      // best last
    conflicts: BTreeSet<u32>, // depths that had to do with failures
    n_excluded: usize,        // before this node was labelled
}

/// Result of the search in one part.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Found {
    Labelling,
    Nothing,
    OutOfTries,
}

impl LabellingSearch {
    /// Fills `labels` with a labelling of finite score.
    ///
    /// Where nothing is forbidden, each node in turn gets the best label given the nodes before it.
    pub(crate) fn find(&mut self, shifted: &Shifted<'_>, labels: &mut [Label]) -> Result<()> {
        for max_tries in MAX_TRIES {
            match self.search(shifted, labels, max_tries) {
                Found::Labelling => return Ok(()),
                Found::Nothing => return Err(impossible(&shifted.p)),
                Found::OutOfTries if max_tries == MAX_TRIES[0] => {
                    if let Ok(elimination) = Elimination::min_fill(&shifted.p.shape(), MAX_ENTRIES) {
                        let tree = CliqueTree::new::<true>(shifted, elimination, CliqueTables::default())?;
                        tree.choose_labels(labels, best_label);
                        return Ok(());
                    }
                }
                Found::OutOfTries => {}
            }
        }
        Err(Error::Infeasible(format!(
            "no possible labelling was found in {} steps, and the graph is too dense for \
             `junction-tree`; allow more labels or transitions",
            MAX_TRIES[1]
        )))
    }

    /// Iterated conditional modes (Besag 1986): sets one node after another to its best label until
    /// nothing changes.
    ///
    /// Returns the number of sweeps, and true if the last one changed nothing.
    pub(crate) fn improve(
        &mut self,
        p: &Potentials<'_>,
        labels: &mut [Label],
        max_sweeps: u32,
    ) -> (u32, bool) {
        let scores = &mut self.scores;
        for sweep in 1..=max_sweeps {
            let mut has_changed = false;
            for n in 0..labels.len() {
                local_scores(p, n, |other| Some(labels[other]), scores);
                let best = best_label(scores);
                if scores[best as usize] > scores[labels[n] as usize] {
                    labels[n] = best;
                    has_changed = true;
                }
            }
            if !has_changed {
                return (sweep, true);
            }
        }
        (max_sweeps, false)
    }

    /// Labels all nodes, part by part.
    fn search(&mut self, shifted: &Shifted<'_>, labels: &mut [Label], max_tries: usize) -> Found {
        let p = &shifted.p;
        let shape = p.shape();
        self.is_labelled.clear();
        self.is_labelled.resize(shape.n_nodes(), false);
        if shifted.forbids {
            self.start(p, labels);
        }
        for root in 0..shape.n_nodes() {
            if self.is_labelled[root] {
                continue;
            }
            if shifted.forbids && self.has_open_edge(shifted, root) {
                match self.search_part(shifted, root, labels, max_tries) {
                    Found::Labelling => {}
                    other => return other,
                }
            } else {
                self.score_labels(p, root, labels);
                labels[root] = best_label(&self.scores);
                self.is_labelled[root] = true;
            }
        }
        Found::Labelling
    }

    /// Labels the nodes that have no choice; their labels exclude nothing that is left to others.
    fn start(&mut self, p: &Potentials<'_>, labels: &mut [Label]) {
        let shape = p.shape();
        self.excluded_at.clear();
        self.excluded_at.extend(p.node().iter().map(|&x| if x == f64::NEG_INFINITY { 0 } else { POSSIBLE }));
        self.n_left.clear();
        self.n_left.extend((0..shape.n_nodes()).map(|n| {
            let own = &p.node()[shape.node_offset(n)..shape.node_offset(n + 1)];
            own.iter().filter(|&&x| x > f64::NEG_INFINITY).count() as u32
        }));
        self.n_labelled_neighbours.clear();
        self.n_labelled_neighbours.resize(shape.n_nodes(), 0);
        self.excluded.clear();
        for (n, label) in labels.iter_mut().enumerate().filter(|(n, _)| self.n_left[*n] == 1) {
            *label = best_label(&p.node()[shape.node_offset(n)..shape.node_offset(n + 1)]);
            self.is_labelled[n] = true;
        }
    }

    /// True if an edge of node `n` forbids a pair and leads to a node that is not yet labelled.
    fn has_open_edge(&self, shifted: &Shifted<'_>, n: usize) -> bool {
        let shape = shifted.p.shape();
        (0..shape.degree(n))
            .map(|k| shape.incidence(n, k))
            .any(|end| !self.is_labelled[end.other as usize] && shifted.forbids_pairs(end.edge as usize))
    }

    /// Labels the connected part of node `root`.
    fn search_part(
        &mut self,
        shifted: &Shifted<'_>,
        root: usize,
        labels: &mut [Label],
        max_tries: usize,
    ) -> Found {
        self.queue.clear();
        let mut levels = vec![self.open(shifted, root, labels)];
        let mut n_tries = 0;
        while let Some(level) = levels.last_mut() {
            let n = level.node;
            if let Some(y) = level.untried.pop() {
                n_tries += 1;
                if n_tries > max_tries {
                    return Found::OutOfTries;
                }
                labels[n] = y;
                let depth = levels.len() as u32;
                match self.exclude(shifted, n, y, depth) {
                    None => match self.next_node() {
                        Some(next) => levels.push(self.open(shifted, next, labels)),
                        None => return Found::Labelling,
                    },
                    Some(empty) => {
                        let causes = self.causes(shifted, empty, depth);
                        if let Some(level) = levels.last_mut() {
                            level.conflicts.extend(causes);
                            self.undo(shifted, level);
                        }
                    }
                }
            } else {
                let mut conflicts = std::mem::take(&mut level.conflicts);
                conflicts.extend(self.causes(shifted, n, levels.len() as u32));
                let Some(culprit) = conflicts.pop_last() else { return Found::Nothing };
                while levels.len() > culprit as usize
                    && let Some(level) = levels.pop()
                {
                    self.close(level.node);
                    if let Some(level) = levels.last() {
                        self.undo(shifted, level);
                    }
                }
                if let Some(level) = levels.last_mut() {
                    level.conflicts.append(&mut conflicts);
                }
            }
        }
        Found::Nothing
    }

    /// Opens a level for node `n`, with the labels that are left to it.
    fn open(&mut self, shifted: &Shifted<'_>, n: usize, labels: &[Label]) -> Level {
        self.score_labels(&shifted.p, n, labels);
        let offset = shifted.p.shape().node_offset(n);
        let is_left = |y: &Label| self.excluded_at[offset + *y as usize] == POSSIBLE;
        let mut untried: Vec<Label> = (0..self.scores.len() as Label).filter(is_left).collect();
        let score = |y: Label| self.scores[y as usize];
        // Of equal scores the smallest label comes first.
        untried.sort_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a)));
        self.is_labelled[n] = true;
        Level { node: n, untried, conflicts: BTreeSet::new(), n_excluded: self.excluded.len() }
    }

    /// Takes the label of node `n`, which excludes nothing any more.
    fn close(&mut self, n: usize) {
        self.is_labelled[n] = false;
        if self.n_labelled_neighbours[n] > 0 {
            self.queue.push(Reverse((self.n_left[n], n as u32)));
        }
    }

    /// Scores of all labels of node `n`, given the nodes labelled so far.
    fn score_labels(&mut self, p: &Potentials<'_>, n: usize, labels: &[Label]) {
        let is_labelled = &self.is_labelled;
        local_scores(p, n, |other| is_labelled[other].then(|| labels[other]), &mut self.scores);
    }

    /// Excludes labels of the neighbours that may not stand beside label `y` of node `n`; returns a
    /// neighbour that has none left.
    fn exclude(&mut self, shifted: &Shifted<'_>, n: usize, y: Label, depth: u32) -> Option<usize> {
        let shape = shifted.p.shape();
        let mut empty = None;
        for k in 0..shape.degree(n) {
            let end = shape.incidence(n, k);
            let other = end.other as usize;
            if !shifted.forbids_pairs(end.edge as usize) {
                continue;
            }
            // Also beside labelled nodes, so that `undo` need not know the order.
            self.n_labelled_neighbours[other] += 1;
            if self.is_labelled[other] {
                continue;
            }
            let table = shifted.p.tables().of(end.edge as usize);
            for z in 0..shape.card(other) {
                let pair = match end.is_head {
                    true => z * shape.card(n) + y as usize,
                    false => y as usize * shape.card(other) + z,
                };
                let slot = shape.node_offset(other) + z;
                if table[pair] == f64::NEG_INFINITY && self.excluded_at[slot] == POSSIBLE {
                    self.excluded_at[slot] = depth;
                    self.excluded.push((end.other, slot));
                    self.n_left[other] -= 1;
                }
            }
            self.queue.push(Reverse((self.n_left[other], end.other)));
            if self.n_left[other] == 0 {
                empty = empty.or(Some(other));
            }
        }
        empty
    }

    /// Takes back what the label of a level excluded.
    fn undo(&mut self, shifted: &Shifted<'_>, level: &Level) {
        let shape = shifted.p.shape();
        for (other, slot) in self.excluded.drain(level.n_excluded..) {
            self.excluded_at[slot] = POSSIBLE;
            self.n_left[other as usize] += 1;
        }
        for k in 0..shape.degree(level.node) {
            let end = shape.incidence(level.node, k);
            let other = end.other as usize;
            if shifted.forbids_pairs(end.edge as usize) {
                self.n_labelled_neighbours[other] -= 1;
                if !self.is_labelled[other] && self.n_labelled_neighbours[other] > 0 {
                    self.queue.push(Reverse((self.n_left[other], end.other)));
                }
            }
        }
    }

    /// Depths before `depth` whose labels exclude a label of node `n`.
    fn causes(&self, shifted: &Shifted<'_>, n: usize, depth: u32) -> Vec<u32> {
        let shape = shifted.p.shape();
        let own = &self.excluded_at[shape.node_offset(n)..shape.node_offset(n + 1)];
        own.iter().copied().filter(|&at| at > 0 && at < depth).collect()
    }

    /// Node with the fewest labels left of those beside the labelled ones.
    fn next_node(&mut self) -> Option<usize> {
        while let Some(Reverse((n_left, n))) = self.queue.pop() {
            let n = n as usize;
            // Entries are not removed when a node changes.
            if !self.is_labelled[n] && self.n_left[n] == n_left && self.n_labelled_neighbours[n] > 0 {
                return Some(n);
            }
        }
        None
    }
}

/// Scores of all labels of node `n`: its node potentials and the edge potentials towards neighbours
/// of known label.
pub(crate) fn local_scores(
    p: &Potentials<'_>,
    n: usize,
    known_label: impl Fn(usize) -> Option<Label>,
    scores: &mut Vec<f64>,
) {
    let shape = p.shape();
    scores.clear();
    scores.extend_from_slice(&p.node()[shape.node_offset(n)..shape.node_offset(n + 1)]);
    for k in 0..shape.degree(n) {
        let end = shape.incidence(n, k);
        if let Some(label) = known_label(end.other as usize) {
            add_edge(p, end, label, scores);
        }
    }
}

/// Adds the potentials of an edge to the scores of the labels at one end, given the label of the
/// other end.
pub(crate) fn add_edge(p: &Potentials<'_>, end: Incidence, other_label: Label, scores: &mut [f64]) {
    let (table, n_labels, x) = (p.tables().of(end.edge as usize), scores.len(), other_label as usize);
    if end.is_head {
        scores.iter_mut().zip(&table[x * n_labels..]).for_each(|(score, entry)| *score += entry);
    } else {
        let column = table[x..].iter().step_by(p.shape().card(end.other as usize));
        scores.iter_mut().zip(column).for_each(|(score, entry)| *score += entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shifted::ShiftMemory;
    use crf_core::{Graph, OwnedPotentials, oracle};
    use crf_testing::cases;
    use crf_testing::graphs::{GraphForm, PotentialRange, any_form, graphs};
    use proptest::prelude::*;

    /// Potentials of which many are −∞: every number is, with probability 1/7, and then those below
    /// `share` of the rest.
    fn rules(form: impl Strategy<Value = GraphForm>) -> impl Strategy<Value = OwnedPotentials> {
        let range = PotentialRange { node: 1.0, edge: 1.0, holes: true };
        (graphs(form, range), 0.0..0.6).prop_map(|(mut x, share)| {
            let no = |x: &mut f64| *x = if *x < 2.0 * share - 1.0 { f64::NEG_INFINITY } else { *x };
            x.tables.iter_mut().for_each(no);
            x
        })
    }

    fn found(x: &mut OwnedPotentials, max_tries: usize) -> (Found, bool) {
        let p = x.view();
        let mut labels = vec![0; p.shape().n_nodes()];
        let mut memory = ShiftMemory::default();
        let Ok(shifted) = memory.shift(&p) else { return (Found::Nothing, false) };
        let found = LabellingSearch::default().search(&shifted, &mut labels, max_tries);
        (found, p.score(&labels) > f64::NEG_INFINITY)
    }

    proptest! {
        #![proptest_config(cases(400))]

        #[test]
        fn the_search_finds_what_there_is_and_proves_what_there_is_not(mut x in rules(any_form())) {
            let feasible = oracle::log_z(&x.view()) > f64::NEG_INFINITY;
            let want = if feasible { (Found::Labelling, true) } else { (Found::Nothing, false) };
            let (found, is_possible) = found(&mut x, usize::MAX);
            prop_assert_eq!((found, feasible && is_possible), want);
        }

        #[test]
        fn the_search_never_steps_back_on_a_forest(mut x in rules(Just(GraphForm::Forest))) {
            let feasible = oracle::log_z(&x.view()) > f64::NEG_INFINITY;
            let n_nodes = x.shape().n_nodes();
            prop_assert_eq!(found(&mut x, n_nodes).0, if feasible { Found::Labelling } else { Found::Nothing });
        }
    }

    /// Four nodes that must differ pairwise have three labels; beside them are free nodes.
    #[test]
    fn a_search_that_runs_out_of_tries_says_so() {
        let pairs = (0..4_u32).flat_map(|u| (u + 1..4).map(move |v| (u, v)));
        let graph = Graph::bare(vec![3; 4], pairs).unwrap();
        let no = f64::NEG_INFINITY;
        let table = [no, 0.0, 0.0, 0.0, no, 0.0, 0.0, 0.0, no];
        let mut x = OwnedPotentials::graph(graph, vec![0.0; 12], &[table], vec![]).unwrap();
        assert_eq!(found(&mut x, 2).0, Found::OutOfTries);
        assert_eq!(found(&mut x, usize::MAX).0, Found::Nothing);
    }

    /// Eight nodes with seven labels that must differ pairwise: 7! labellings of the first seven.
    #[test]
    fn a_clique_tree_decides_where_the_search_runs_out_of_tries() {
        let pairs = (0..8_u32).flat_map(|u| (u + 1..8).map(move |v| (u, v)));
        let graph = Graph::bare(vec![7; 8], pairs).unwrap();
        let mut table = [0.0; 49];
        (0..7).for_each(|y| table[8 * y] = f64::NEG_INFINITY);
        let mut x = OwnedPotentials::graph(graph, vec![0.0; 56], &[table], vec![]).unwrap();
        assert_eq!(found(&mut x, MAX_TRIES[0]).0, Found::OutOfTries);
        let (p, mut memory) = (x.view(), ShiftMemory::default());
        let shifted = memory.shift(&p).unwrap();
        let error = LabellingSearch::default().find(&shifted, &mut [0; 8]).unwrap_err().to_string();
        assert!(error.starts_with("infeasible: every labelling has"), "{error}");
    }
}
