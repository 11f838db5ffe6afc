use crf_core::{
    Beliefs, Decoded, EdgeBeliefs, Error, Inference, Label, LogZ, Marginals, Potentials, Result, Rng,
    Sampler, Scratch, Shape, require,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::{check_finite, impossible};
use crate::graph::exact::elimination::{Clique, Elimination};
use crate::log_domain::{draw, log_sum_exp};

/// Exact marginals, log Z, best labelling and draws on any graph that is not too densely connected.
///
/// Nodes are eliminated in min-fill order (Koller and Friedman 2009, ch. 9 and 10), which makes a tree of cliques; time and
/// memory grow with the number of labellings of the largest one. Both are known before anything is computed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JunctionTree {
    /// Graphs whose tables would take more than this many MiB are refused.
    pub memory: f64,
}

impl Default for JunctionTree {
    fn default() -> Self {
        JunctionTree { memory: 1024.0 }
    }
}

const NUMBERS_PER_MIB: f64 = (1 << 17) as f64;

impl JunctionTree {
    fn eliminate(&self, shape: &Shape<'_>) -> Result<Elimination> {
        Elimination::min_fill(shape, self.memory * NUMBERS_PER_MIB).map_err(|too_large| Error::Unsupported {
            tag: "junction-tree",
            what: format!(
                "needs {:.0} MiB or more for cliques of up to {} nodes, `memory` allows {}; \
                 `belief-propagation` and `tree-reweighted` are approximate and need little",
                too_large.numbers / NUMBERS_PER_MIB,
                too_large.clique,
                self.memory
            ),
        })
    }

    fn tree<const MAX: bool>(&self, p: &Potentials<'_>, scratch: &mut Scratch) -> Result<Tree> {
        check_finite(p)?;
        let elimination = self.eliminate(&p.shape())?;
        let mut tree = Tree { elimination, memory: std::mem::take(scratch.get()), log_z: 0.0 };
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
        let tree = self.tree::<true>(p, scratch)?;
        tree.label(labels, |row, _| {
            (1..row.len()).fold(0, |best, y| if row[y] > row[best] { y } else { best }) as Label
        });
        *scratch.get() = tree.memory;
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
        let mut tree = self.tree::<false>(p, scratch)?;
        tree.distribute();
        tree.hand_out(p, out);
        *scratch.get() = tree.memory;
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
        let tree = self.tree::<false>(p, scratch)?;
        for labels in labellings {
            labels.clear();
            labels.resize(p.shape().n_nodes(), 0);
            tree.label(labels, |row, total| draw(row, total, rng));
        }
        *scratch.get() = tree.memory;
        Ok(())
    }
}

/// The memory of a tree, kept between instances.
#[derive(Debug, Default)]
struct Memory {
    clique: Vec<f64>, // log potentials of each clique's labellings; after `distribute` their probabilities
    separator: Vec<f64>, // log Σ or max over the labels of the node eliminated
    outer: Vec<f64>,  // probabilities of the separators
}

struct Tree {
    elimination: Elimination,
    memory: Memory,
    log_z: f64,
}

impl Tree {
    /// From the leaves to the roots: each clique sums its node out and hands the sums on.
    fn collect<const MAX: bool>(&mut self, p: &Potentials<'_>) {
        let Tree { elimination, memory, log_z } = self;
        let shape = p.shape();
        memory.clique.clear();
        memory.clique.resize(elimination.size, 0.0);
        memory.separator.resize(elimination.separators(), 0.0);
        for clique in &elimination.cliques {
            let n = clique.node();
            let labels = shape.card(n);
            let node = &p.node()[shape.node_offset(n)..shape.node_offset(n + 1)];
            let table = &mut memory.clique[clique.at..clique.at + clique.size()];
            table.chunks_exact_mut(labels).for_each(|row| {
                row.iter_mut().zip(node).for_each(|(to, potential)| *to += potential);
            });
            for (e, strides) in edges_of(clique, elimination, &shape) {
                let potentials = p.tables().of(e);
                clique.walk(&strides, |place, pair| table[place] += potentials[pair]);
            }
            let sums = clique.separator_offset..clique.separator_offset + clique.separator();
            for (row, sum) in table.chunks_exact(labels).zip(&mut memory.separator[sums.clone()]) {
                let row = row.iter().copied();
                *sum = if MAX { row.fold(f64::NEG_INFINITY, f64::max) } else { log_sum_exp(row) };
            }
            match clique.parent() {
                None => *log_z += memory.separator[clique.separator_offset],
                Some(parent) => {
                    let parent = &elimination.cliques[elimination.turn[parent]];
                    let (sums, table) = (&memory.separator[sums], &mut memory.clique[parent.at..]);
                    parent.walk(&clique.separator_strides(), |place, sub| table[place] += sums[sub]);
                }
            }
        }
    }

    /// From the roots to the leaves: p(clique) = p(node | separator) p(separator), the latter from the clique above.
    fn distribute(&mut self) {
        let Tree { elimination, memory, .. } = self;
        for clique in elimination.cliques.iter().rev() {
            let labels = clique.cards[clique.cards.len() - 1];
            memory.outer.clear();
            memory.outer.resize(clique.separator(), 0.0);
            match clique.parent() {
                None => memory.outer.fill(1.0),
                Some(parent) => {
                    let parent = &elimination.cliques[elimination.turn[parent]];
                    let (outer, above) = (&mut memory.outer, &memory.clique[parent.at..]);
                    parent.walk(&clique.separator_strides(), |place, sub| outer[sub] += above[place]);
                }
            }
            let table = &mut memory.clique[clique.at..clique.at + clique.size()];
            let sums = &memory.separator[clique.separator_offset..];
            for ((row, &sum), &outer) in table.chunks_exact_mut(labels).zip(sums).zip(&memory.outer) {
                // Where nothing is possible, −∞ − (−∞) would be NaN.
                row.iter_mut().for_each(|x| *x = if outer == 0.0 { 0.0 } else { (*x - sum).exp() * outer });
            }
        }
    }

    /// Sums the probabilities of cliques to those of nodes and edges.
    fn hand_out(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>) {
        let shape = p.shape();
        let mut pairs = Vec::new();
        out.node.fill(0.0);
        for clique in &self.elimination.cliques {
            let n = clique.node();
            let table = &self.memory.clique[clique.at..clique.at + clique.size()];
            let node = &mut out.node[shape.node_offset(n)..shape.node_offset(n + 1)];
            for row in table.chunks_exact(node.len()) {
                node.iter_mut().zip(row).for_each(|(node, x)| *node += x);
            }
            if matches!(out.edge, EdgeBeliefs::None) {
                continue;
            }
            for (e, strides) in edges_of(clique, &self.elimination, &shape) {
                pairs.clear();
                pairs.resize(shape.edge_offset(e + 1) - shape.edge_offset(e), 0.0);
                clique.walk(&strides, |place, pair| pairs[pair] += table[place]);
                out.edge.put(p, e, pairs.iter().copied());
            }
        }
    }

    /// Labels all nodes from the roots on; `choose` is shown the scores of a node's labels and their sum or maximum.
    fn label(&self, labels: &mut [Label], mut choose: impl FnMut(&[f64], f64) -> Label) {
        for clique in self.elimination.cliques.iter().rev() {
            let outer = clique.separator_strides();
            let sub: usize = outer.iter().map(|&(n, stride)| labels[n as usize] as usize * stride).sum();
            let n_labels = clique.cards[clique.cards.len() - 1];
            let row = &self.memory.clique[clique.at + sub * n_labels..][..n_labels];
            labels[clique.node()] = choose(row, self.memory.separator[clique.separator_offset + sub]);
        }
    }
}

/// The edges whose first end to be eliminated is the clique's node, each once, with the strides of its table.
fn edges_of<'a>(
    clique: &'a Clique,
    elimination: &'a Elimination,
    shape: &'a Shape<'_>,
) -> impl Iterator<Item = (usize, [(u32, usize); 2])> + 'a {
    let n = clique.node();
    let ends = (0..shape.degree(n)).map(move |k| shape.incidence(n, k));
    let later = ends.filter(move |end| elimination.turn[end.other as usize] > elimination.turn[n]);
    later.map(move |end| {
        let strides = match end.is_head {
            true => [(end.other, shape.card(n)), (n as u32, 1)],
            false => [(n as u32, shape.card(end.other as usize)), (end.other, 1)],
        };
        (end.edge as usize, strides)
    })
}
