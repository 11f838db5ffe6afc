use crf_core::{
    CompensatedSum, Convergence, Decoded, Inference, Label, Potentials, Result, Scratch, Shape, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::{check_sweeps, finite_score, impossible};
use crate::graph::feasible::LabellingSearch;
use crate::log_domain::{best_label, maximum};
use crate::shifted::{ShiftMemory, Shifted};

/// Dual decomposition: a good labelling on any graph, and an upper bound on the score of the best
/// labelling.
///
/// Block coordinate descent on the dual of the linear relaxation (MPLP; Globerson and Jaakkola
/// 2007, in the notation of Sontag et al. 2011, figure 1.4): nodes and edges are decoded separately
/// and brought to agreement by dual variables δ. The bound never rises. Bound and score meet when
/// the relaxation is tight and the descent does not get stuck. Finds labels only, neither marginals
/// nor log Z.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DualDecomposition {
    /// Convergence tolerance: the bound has converged when it falls by no more than this in a
    /// sweep, or is no further than this above the score.
    pub tolerance: f64,
    /// Maximum number of sweeps over all edges.
    pub max_sweeps: u32,
}

impl Default for DualDecomposition {
    fn default() -> Self {
        DualDecomposition { tolerance: 1e-7, max_sweeps: 1000 }
    }
}

crf_core::plugin!("inference", DualDecomposition, "dual-decomposition");

/// Memory of a worker.
#[derive(Debug, Default)]
struct Memory {
    shift: ShiftMemory,
    search: LabellingSearch,
    workspace: Workspace,
}

/// Arrays of the descent.
#[derive(Debug, Default)]
struct Workspace {
    node: Vec<f64>,  // [nodes × labels] node(n, y) + Σ_e δ_{e→n}(y); −∞ for labels found impossible
    delta: Vec<f64>, // δ_{e→n}(y), laid out by `Shape::message_offset`
    best: [Vec<f64>; 2], // [labels] of tail and head: the best score of an edge with each label
    labels: Vec<Label>, // [nodes]
}

#[typetag::serde(name = "dual-decomposition")]
impl Inference for DualDecomposition {
    fn check(&self) -> Result<()> {
        check_sweeps(self.tolerance, self.max_sweeps)
    }

    fn supports(&self, _shape: &Shape<'_>) -> Result<()> {
        Ok(())
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded> {
        assert_eq!(labels.len(), p.shape().n_nodes(), "one label per node");
        let Memory { shift, search, workspace } = scratch.get();
        let shifted = shift.shift(p)?;
        let (upper, convergence) = self.descend(&shifted, labels, search, workspace)?;
        let score = finite_score(p, labels)?;
        // Rounding may leave the bound a little below a score that reaches it.
        Ok(Decoded { score, upper: Some(shifted.log_z(upper)?.max(score)), convergence })
    }
}

impl DualDecomposition {
    /// Labels all nodes; returns an upper bound on the score of the shifted potentials.
    fn descend(
        &self,
        shifted: &Shifted<'_>,
        labels: &mut [Label],
        search: &mut LabellingSearch,
        workspace: &mut Workspace,
    ) -> Result<(f64, Convergence)> {
        let p = &shifted.p;
        search.find(shifted, labels)?;
        search.improve(p, labels, self.max_sweeps);
        workspace.reset(p);
        let mut score = p.score(labels);
        let mut upper = workspace.upper_bound(p)?;
        let mut convergence = Convergence { stop: Stop::Budget, sweeps: 0, residual: f64::INFINITY };
        while convergence.sweeps < self.max_sweeps && convergence.stop == Stop::Budget {
            workspace.sweep(p);
            convergence.sweeps += 1;
            let bound = workspace.upper_bound(p)?;
            convergence.residual = upper - bound;
            upper = upper.min(bound);
            let rounded_score = workspace.round_labels(p, self.max_sweeps, search);
            if rounded_score > score {
                score = rounded_score;
                labels.copy_from_slice(&workspace.labels);
            }
            if convergence.residual <= self.tolerance || upper - score <= self.tolerance {
                convergence.stop = Stop::Converged;
            }
        }
        Ok((upper, convergence))
    }
}

impl Workspace {
    /// Sets all δ to zero.
    fn reset(&mut self, p: &Potentials<'_>) {
        self.node.clear();
        self.node.extend_from_slice(p.node());
        self.delta.clear();
        self.delta.resize(p.shape().message_offset(p.shape().n_nodes()), 0.0);
        self.labels.resize(p.shape().n_nodes(), 0);
    }

    /// Σ_n max (node + Σ δ) + Σ_e max (table − δ_u − δ_v): an upper bound on every score.
    fn upper_bound(&self, p: &Potentials<'_>) -> Result<f64> {
        let shape = p.shape();
        let mut bound = CompensatedSum::default();
        for n in 0..shape.n_nodes() {
            let own = &self.node[shape.node_offset(n)..shape.node_offset(n + 1)];
            bound.add(maximum(own.iter().copied()));
            for_each_edge(&shape, n, |edge| {
                let entries = (0..edge.size()).map(|pair| self.reduced_entry(p, &edge, pair));
                bound.add(maximum(entries));
            });
        }
        if bound.value().is_finite() { Ok(bound.value()) } else { Err(impossible(p)) }
    }

    /// table − δ_u − δ_v of a pair of labels; −∞ if one of them is impossible.
    fn reduced_entry(&self, p: &Potentials<'_>, edge: &EdgeOffsets, pair: usize) -> f64 {
        let (x, y) = (pair / edge.n_head_labels, pair % edge.n_head_labels);
        let is_possible = self.node[edge.node[0] + x] > f64::NEG_INFINITY
            && self.node[edge.node[1] + y] > f64::NEG_INFINITY;
        if is_possible {
            p.tables().of(edge.index)[pair] - self.delta[edge.delta[0] + x] - self.delta[edge.delta[1] + y]
        } else {
            f64::NEG_INFINITY
        }
    }

    /// One sweep, for each edge: δ_{e→u} = ½ max_y (table + δ_v^{−e}) − ½ δ_u^{−e}, and the same
    /// for v.
    fn sweep(&mut self, p: &Potentials<'_>) {
        let shape = p.shape();
        for n in 0..shape.n_nodes() {
            for_each_edge(&shape, n, |edge| {
                let sizes = [edge.n_tail_labels, edge.n_head_labels];
                for side in 0..2 {
                    // Without the part of this edge: δ^{−e}.
                    for y in 0..sizes[side] {
                        self.node[edge.node[side] + y] -= self.delta[edge.delta[side] + y];
                    }
                    self.best[side].clear();
                    self.best[side].resize(sizes[side], f64::NEG_INFINITY);
                }
                for (pair, &entry) in p.tables().of(edge.index).iter().enumerate() {
                    let (x, y) = (pair / edge.n_head_labels, pair % edge.n_head_labels);
                    let (tail, head) = (self.node[edge.node[0] + x], self.node[edge.node[1] + y]);
                    self.best[0][x] = self.best[0][x].max(entry + head);
                    self.best[1][y] = self.best[1][y].max(entry + tail);
                }
                for side in 0..2 {
                    for y in 0..sizes[side] {
                        let (node, best) = (&mut self.node[edge.node[side] + y], self.best[side][y]);
                        let delta = &mut self.delta[edge.delta[side] + y];
                        if *node == f64::NEG_INFINITY || best == f64::NEG_INFINITY {
                            // No possible labelling has this label.
                            (*node, *delta) = (f64::NEG_INFINITY, 0.0);
                        } else {
                            *delta = 0.5 * (best - *node);
                            *node += *delta;
                        }
                    }
                }
            });
        }
    }

    /// Rounds to a labelling: the best label of each node by itself, then improved label by label.
    /// Returns its score.
    fn round_labels(&mut self, p: &Potentials<'_>, max_sweeps: u32, search: &mut LabellingSearch) -> f64 {
        let shape = p.shape();
        for (n, label) in self.labels.iter_mut().enumerate() {
            let own = &self.node[shape.node_offset(n)..shape.node_offset(n + 1)];
            *label = best_label(own);
        }
        search.improve(p, &mut self.labels, max_sweeps);
        p.score(&self.labels)
    }
}

/// Index of an edge, and the sizes and offsets of its tail and its head.
struct EdgeOffsets {
    index: usize,
    n_tail_labels: usize,
    n_head_labels: usize,
    node: [usize; 2],
    delta: [usize; 2],
}

impl EdgeOffsets {
    fn size(&self) -> usize {
        self.n_tail_labels * self.n_head_labels
    }
}

/// Calls `visit` for each edge that leaves node `n`.
fn for_each_edge(shape: &Shape<'_>, n: usize, mut visit: impl FnMut(EdgeOffsets)) {
    let n_tail_labels = shape.card(n);
    for k in 0..shape.degree(n) {
        let end = shape.incidence(n, k);
        if !end.is_head {
            let other = end.other as usize;
            visit(EdgeOffsets {
                index: end.edge as usize,
                n_tail_labels,
                n_head_labels: shape.card(other),
                node: [shape.node_offset(n), shape.node_offset(other)],
                delta: [shape.message_offset(n) + k * n_tail_labels, end.opposite],
            });
        }
    }
}
