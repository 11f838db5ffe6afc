use crf_core::{Beliefs, CompensatedSum, EdgeBeliefs, Label, Potentials, Result, Shape};

use crate::errors::impossible;
use crate::graph::exact::elimination::{Clique, Elimination};
use crate::log_domain::{log_sum_exp, lower, maximum, normalise};
use crate::shifted::Shifted;

/// Tables of a clique tree, whose memory a worker keeps.
#[derive(Debug, Default)]
pub(crate) struct CliqueTables {
    clique: Vec<f64>, // log potentials of each clique's labellings; after `distribute` their probabilities
    separator: Vec<f64>, // log Σ or max over the labels of the clique's own node, with the maximum 0
    separator_probability: Vec<f64>, // of one separator
}

/// The clique tree of one instance after the upward pass.
pub(crate) struct CliqueTree {
    elimination: Elimination,
    tables: CliqueTables,
    height: CompensatedSum, // log Z, or the score of the best labelling
}

impl CliqueTree {
    /// Runs the upward pass with sums or maxima (`MAX`).
    pub(crate) fn new<const MAX: bool>(
        shifted: &Shifted<'_>,
        elimination: Elimination,
        tables: CliqueTables,
    ) -> Result<Self> {
        let mut tree = CliqueTree { elimination, tables, height: shifted.height };
        if tree.collect::<MAX>(&shifted.p) { Ok(tree) } else { Err(impossible(&shifted.p)) }
    }

    /// log Z, or the score of the best labelling; not finite if it overflows.
    pub(crate) fn log_z(&self) -> f64 {
        self.height.value()
    }

    /// The memory of the tables.
    pub(crate) fn into_tables(self) -> CliqueTables {
        self.tables
    }

    /// Upward pass, from the leaves to the roots: each clique sums over its own node and adds the
    /// sums to its parent. False if no labelling is possible.
    ///
    /// The sums of a clique are lowered to the maximum 0, so that its potentials cost those of
    /// other cliques no digits.
    fn collect<const MAX: bool>(&mut self, p: &Potentials<'_>) -> bool {
        let CliqueTree { elimination, tables, height } = self;
        let shape = p.shape();
        tables.clique.clear();
        tables.clique.resize(elimination.size, 0.0);
        tables.separator.resize(elimination.separators_size(), 0.0);
        for clique in &elimination.cliques {
            let n = clique.node();
            let n_labels = shape.card(n);
            let node = &p.node()[shape.node_offset(n)..shape.node_offset(n + 1)];
            let table = &mut tables.clique[clique.table_offset..clique.table_offset + clique.size()];
            table.chunks_exact_mut(n_labels).for_each(|row| {
                row.iter_mut().zip(node).for_each(|(entry, potential)| *entry += potential);
            });
            for (e, strides) in clique_edges(clique, elimination, &shape) {
                let potentials = p.tables().of(e);
                clique.for_each_labelling(&strides, |index, pair| table[index] += potentials[pair]);
            }
            let separator = clique.separator_offset..clique.separator_offset + clique.separator_size();
            let sums = &mut tables.separator[separator.clone()];
            for (row, sum) in table.chunks_exact(n_labels).zip(sums.iter_mut()) {
                let row = row.iter().copied();
                *sum = if MAX { maximum(row) } else { log_sum_exp(row) };
            }
            let max = lower(sums);
            if max == f64::NEG_INFINITY {
                return false;
            }
            height.add(max);
            if let Some(parent) = clique.parent() {
                let parent = &elimination.cliques[elimination.clique_of_node[parent]];
                let sums = &tables.separator[separator];
                let parent_table = &mut tables.clique[parent.table_offset..];
                parent.for_each_labelling(&clique.separator_strides(), |index, sub_index| {
                    parent_table[index] += sums[sub_index];
                });
            }
        }
        true
    }

    /// Downward pass, from the roots to the leaves: p(clique) = p(node | separator) p(separator).
    ///
    /// p(separator) is summed from the parent's p(clique).
    pub(crate) fn distribute(&mut self) {
        let CliqueTree { elimination, tables, .. } = self;
        for clique in elimination.cliques.iter().rev() {
            let n_labels = clique.cards[clique.cards.len() - 1];
            tables.separator_probability.clear();
            tables.separator_probability.resize(clique.separator_size(), 0.0);
            match clique.parent() {
                None => tables.separator_probability.fill(1.0),
                Some(parent) => {
                    let parent = &elimination.cliques[elimination.clique_of_node[parent]];
                    let probabilities = &mut tables.separator_probability;
                    let parent_table = &tables.clique[parent.table_offset..];
                    parent.for_each_labelling(&clique.separator_strides(), |index, sub_index| {
                        probabilities[sub_index] += parent_table[index];
                    });
                }
            }
            let table = &mut tables.clique[clique.table_offset..clique.table_offset + clique.size()];
            for (row, &outer) in table.chunks_exact_mut(n_labels).zip(&tables.separator_probability) {
                if outer == 0.0 {
                    row.fill(0.0);
                } else {
                    normalise(row);
                    row.iter_mut().for_each(|x| *x *= outer);
                }
            }
        }
    }

    /// Sums the probabilities of cliques to beliefs of nodes and edges.
    pub(crate) fn write_beliefs(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>) {
        let shape = p.shape();
        let mut pairs = Vec::new();
        out.node.fill(0.0);
        for clique in &self.elimination.cliques {
            let n = clique.node();
            let table = &self.tables.clique[clique.table_offset..clique.table_offset + clique.size()];
            let node = &mut out.node[shape.node_offset(n)..shape.node_offset(n + 1)];
            for row in table.chunks_exact(node.len()) {
                node.iter_mut().zip(row).for_each(|(node, x)| *node += x);
            }
            if matches!(out.edge, EdgeBeliefs::None) {
                continue;
            }
            for (e, strides) in clique_edges(clique, &self.elimination, &shape) {
                pairs.clear();
                pairs.resize(shape.edge_offset(e + 1) - shape.edge_offset(e), 0.0);
                clique.for_each_labelling(&strides, |index, pair| pairs[pair] += table[index]);
                out.edge.put(p, e, pairs.iter().copied());
            }
        }
    }

    /// Labels all nodes from the roots to the leaves, each given its separator.
    ///
    /// `choose` gets the log scores of the node's labels.
    pub(crate) fn choose_labels(&self, labels: &mut [Label], mut choose: impl FnMut(&[f64]) -> Label) {
        for clique in self.elimination.cliques.iter().rev() {
            let strides = clique.separator_strides();
            let sub_index: usize =
                strides.iter().map(|&(n, stride)| labels[n as usize] as usize * stride).sum();
            let n_labels = clique.cards[clique.cards.len() - 1];
            let row = &self.tables.clique[clique.table_offset + sub_index * n_labels..][..n_labels];
            labels[clique.node()] = choose(row);
        }
    }
}

/// Edges whose first end to be eliminated is the clique's own node, with the strides of both ends
/// in the edge's table.
fn clique_edges<'a>(
    clique: &'a Clique,
    elimination: &'a Elimination,
    shape: &'a Shape<'_>,
) -> impl Iterator<Item = (usize, [(u32, usize); 2])> + 'a {
    let n = clique.node();
    let ends = (0..shape.degree(n)).map(move |k| shape.incidence(n, k));
    let turn = &elimination.clique_of_node;
    let later = ends.filter(move |end| turn[end.other as usize] > turn[n]);
    later.map(move |end| {
        let strides = match end.is_head {
            true => [(end.other, shape.card(n)), (n as u32, 1)],
            false => [(n as u32, shape.card(end.other as usize)), (end.other, 1)],
        };
        (end.edge as usize, strides)
    })
}
