use crf_core::{
    Beliefs, Decoded, EdgeBeliefs, Error, Inference, Label, LogZ, Marginals, Potentials, Result, Rng,
    Sampler, Scratch, Shape, require,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::{check_finite, impossible};
use crate::graph::exact::elimination::{Clique, Elimination};
use crate::log_domain::{draw, log_sum_exp};

/// Junction tree: exact inference on any graph that is not too densely connected.
///
/// Computes marginals, log Z, the best labelling and draws. Nodes are eliminated in min-fill order
/// (Koller and Friedman 2009, ch. 9 and 10), which makes a tree of cliques. Time and memory grow
/// with the number of labellings of the largest clique; both are known before anything is computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JunctionTree {
    /// Memory limit in MiB; graphs whose clique tables would take more are rejected.
    pub memory: f64,
}

impl Default for JunctionTree {
    fn default() -> Self {
        JunctionTree { memory: 1024.0 }
    }
}

/// Number of `f64` per MiB.
const NUMBERS_PER_MIB: f64 = (1 << 17) as f64;

impl JunctionTree {
    /// The elimination of a graph; an error if its tables exceed the memory limit.
    fn eliminate(&self, shape: &Shape<'_>) -> Result<Elimination> {
        Elimination::min_fill(shape, self.memory * NUMBERS_PER_MIB).map_err(|too_large| Error::Unsupported {
            tag: "junction-tree",
            what: format!(
                "needs {:.0} MiB or more for cliques of up to {} nodes, `memory` allows {}; \
                 `belief-propagation` and `tree-reweighted` are approximate and need little",
                too_large.n_entries / NUMBERS_PER_MIB,
                too_large.n_clique_nodes,
                self.memory
            ),
        })
    }

    /// The clique tree after the upward pass, with sums or maxima (`MAX`).
    fn clique_tree<const MAX: bool>(&self, p: &Potentials<'_>, scratch: &mut Scratch) -> Result<CliqueTree> {
        check_finite(p)?;
        let elimination = self.eliminate(&p.shape())?;
        let mut tree = CliqueTree { elimination, tables: std::mem::take(scratch.get()), log_z: 0.0 };
        tree.collect::<MAX>(p);
        if tree.log_z == f64::NEG_INFINITY {
            return Err(impossible(p));
        }
        Ok(tree)
    }
}

crf_core::plugin!("inference", JunctionTree, "junction-tree");

#[typetag::serde(name = "junction-tree")]
impl Inference for JunctionTree {
    fn check(&self) -> Result<()> {
        require(self.memory > 0.0, "memory", "above 0", self.memory)
    }

    fn supports(&self, shape: &Shape<'_>) -> Result<()> {
        self.eliminate(shape).map(|_| ())
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded> {
        let tree = self.clique_tree::<true>(p, scratch)?;
        tree.choose_labels(labels, |row, _| {
            (1..row.len()).fold(0, |best, y| if row[y] > row[best] { y } else { best }) as Label
        });
        *scratch.get() = tree.tables;
        Ok(Decoded::exact(p.score(labels)))
    }

    fn as_sampler(&self) -> Option<&dyn Sampler> {
        Some(self)
    }

    fn as_marginals(&self) -> Option<&dyn Marginals> {
        Some(self)
    }
}

impl Marginals for JunctionTree {
    fn marginals(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>, scratch: &mut Scratch) -> Result<LogZ> {
        assert_eq!(out.node.len(), p.node().len(), "one belief per node and label");
        let mut tree = self.clique_tree::<false>(p, scratch)?;
        tree.distribute();
        tree.write_beliefs(p, out);
        *scratch.get() = tree.tables;
        Ok(LogZ::exact(tree.log_z))
    }
}

impl Sampler for JunctionTree {
    fn sample(
        &self,
        p: &Potentials<'_>,
        rng: &mut Rng,
        labellings: &mut [Vec<Label>],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let tree = self.clique_tree::<false>(p, scratch)?;
        for labels in labellings {
            labels.clear();
            labels.resize(p.shape().n_nodes(), 0);
            tree.choose_labels(labels, |row, total| draw(row, total, rng));
        }
        *scratch.get() = tree.tables;
        Ok(())
    }
}

/// Tables of a clique tree, whose memory a worker keeps.
#[derive(Debug, Default)]
struct CliqueTables {
    clique: Vec<f64>, // log potentials of each clique's labellings; after `distribute` their probabilities
    separator: Vec<f64>, // log Σ or max over the labels of the clique's own node
    separator_probability: Vec<f64>, // of one separator
}

/// The clique tree of one instance.
struct CliqueTree {
    elimination: Elimination,
    tables: CliqueTables,
    log_z: f64,
}

impl CliqueTree {
    /// Upward pass, from the leaves to the roots: each clique sums over its own node and adds the
    /// sums to its parent.
    fn collect<const MAX: bool>(&mut self, p: &Potentials<'_>) {
        let CliqueTree { elimination, tables, log_z } = self;
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
            for (row, sum) in table.chunks_exact(n_labels).zip(sums) {
                let row = row.iter().copied();
                *sum = if MAX { row.fold(f64::NEG_INFINITY, f64::max) } else { log_sum_exp(row) };
            }
            match clique.parent() {
                None => *log_z += tables.separator[clique.separator_offset],
                Some(parent) => {
                    let parent = &elimination.cliques[elimination.clique_of_node[parent]];
                    let sums = &tables.separator[separator];
                    let parent_table = &mut tables.clique[parent.table_offset..];
                    parent.for_each_labelling(&clique.separator_strides(), |index, sub_index| {
                        parent_table[index] += sums[sub_index];
                    });
                }
            }
        }
    }

    /// Downward pass, from the roots to the leaves: p(clique) = p(node | separator) p(separator).
    ///
    /// p(separator) is summed from the parent's p(clique).
    fn distribute(&mut self) {
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
            let sums = &tables.separator[clique.separator_offset..];
            let rows = table.chunks_exact_mut(n_labels).zip(sums).zip(&tables.separator_probability);
            for ((row, &sum), &outer) in rows {
                // Where the separator is impossible, −∞ − (−∞) would be NaN.
                row.iter_mut().for_each(|x| *x = if outer == 0.0 { 0.0 } else { (*x - sum).exp() * outer });
            }
        }
    }

    /// Sums the probabilities of cliques to beliefs of nodes and edges.
    fn write_beliefs(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>) {
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
    /// `choose` gets the log scores of the node's labels and their log sum or maximum.
    fn choose_labels(&self, labels: &mut [Label], mut choose: impl FnMut(&[f64], f64) -> Label) {
        for clique in self.elimination.cliques.iter().rev() {
            let strides = clique.separator_strides();
            let sub_index: usize =
                strides.iter().map(|&(n, stride)| labels[n as usize] as usize * stride).sum();
            let n_labels = clique.cards[clique.cards.len() - 1];
            let row = &self.tables.clique[clique.table_offset + sub_index * n_labels..][..n_labels];
            labels[clique.node()] = choose(row, self.tables.separator[clique.separator_offset + sub_index]);
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
