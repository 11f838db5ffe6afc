use crf_core::{Convergence, Decoded, Inference, Label, Potentials, Result, Scratch, Shape, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::{check_finite, impossible};
use crate::graph::feasible;

/// A good labelling on any graph, and an upper bound on the score of the best. Finds labels only.
///
/// Block coordinate descent on the dual of the linear relaxation (MPLP; Globerson and Jaakkola 2007, in the notation of Sontag
/// et al. 2011, figure 1.4): nodes and edges are decoded apart and made to agree by δ. The bound never rises, and bound and
/// score meet when the relaxation is tight and the descent does not get stuck.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DualDecomposition {
    /// A bound that falls less than this in a sweep, or is this near to the score, has converged.
    pub tolerance: f64,
    /// Sweeps over all edges before giving up.
    pub max_sweeps: u32,
}

impl Default for DualDecomposition {
    fn default() -> Self {
        DualDecomposition { tolerance: 1e-7, max_sweeps: 1000 }
    }
}

crf_core::plugin!("inference", DualDecomposition, "dual-decomposition");

/// What a worker keeps between instances.
#[derive(Debug, Default)]
struct Workspace {
    node: Vec<f64>,  // [nodes × labels] node(n, y) + Σ_e δ_{e→n}(y); −∞ for labels that cannot be
    delta: Vec<f64>, // laid out by `Shape::message_offset`
    best: [Vec<f64>; 2],
    labels: Vec<Label>,
}

#[typetag::serde(name = "dual-decomposition")]
impl Inference for DualDecomposition {
    fn check(&self) -> Result<()> {
        crate::graph::check_sweeps(self.tolerance, self.max_sweeps)
    }

    fn supports(&self, _shape: &Shape<'_>) -> Result<()> {
        Ok(())
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded> {
        assert_eq!(labels.len(), p.shape().n_nodes(), "one label per node");
        check_finite(p)?;
        let workspace: &mut Workspace = scratch.get();
        workspace.start(p);
        feasible::required(p, labels)?;
        feasible::climb(p, labels, self.max_sweeps);
        let mut score = p.score(labels);
        let mut upper = workspace.bound(p)?;
        let mut convergence = Convergence { stop: Stop::Budget, sweeps: 0, residual: f64::INFINITY };
        while convergence.sweeps < self.max_sweeps && convergence.stop == Stop::Budget {
            workspace.sweep(p);
            convergence.sweeps += 1;
            let now = workspace.bound(p)?;
            convergence.residual = upper - now;
            upper = upper.min(now);
            let found = workspace.round(p, self.max_sweeps);
            if found > score {
                score = found;
                labels.copy_from_slice(&workspace.labels);
            }
            if convergence.residual <= self.tolerance || upper - score <= self.tolerance {
                convergence.stop = Stop::Converged;
            }
        }
        // Rounding may leave the bound a little below a score that reaches it.
        Ok(Decoded { score, upper: Some(upper.max(score)), convergence })
    }
}

impl Workspace {
    fn start(&mut self, p: &Potentials<'_>) {
        self.node.clear();
        self.node.extend_from_slice(p.node());
        self.delta.clear();
        self.delta.resize(p.shape().message_offset(p.shape().n_nodes()), 0.0);
        self.labels.resize(p.shape().n_nodes(), 0);
    }

    /// Σ_n max (node + Σ δ) + Σ_e max (table − δ − δ), an upper bound on every score.
    fn bound(&self, p: &Potentials<'_>) -> Result<f64> {
        let shape = p.shape();
        let mut bound = 0.0;
        for n in 0..shape.n_nodes() {
            let own = &self.node[shape.node_offset(n)..shape.node_offset(n + 1)];
            bound += own.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for_each_edge(&shape, n, |edge| {
                let entries = (0..edge.size()).map(|at| self.apart(p, &edge, at));
                bound += entries.fold(f64::NEG_INFINITY, f64::max);
            });
        }
        if bound == f64::NEG_INFINITY { Err(impossible(p)) } else { Ok(bound) }
    }

    /// table − δ_u − δ_v of a pair, −∞ when one of its labels cannot be.
    fn apart(&self, p: &Potentials<'_>, edge: &Ends, at: usize) -> f64 {
        let (x, y) = (at / edge.heads, at % edge.heads);
        let possible = self.node[edge.node[0] + x] > f64::NEG_INFINITY
            && self.node[edge.node[1] + y] > f64::NEG_INFINITY;
        if possible {
            p.tables().of(edge.e)[at] - self.delta[edge.delta[0] + x] - self.delta[edge.delta[1] + y]
        } else {
            f64::NEG_INFINITY
        }
    }

    /// For each edge: δ_{e→u} = ½ max_y (table + δ_v^{−e}) − ½ δ_u^{−e}, and the same for v.
    fn sweep(&mut self, p: &Potentials<'_>) {
        let shape = p.shape();
        for n in 0..shape.n_nodes() {
            for_each_edge(&shape, n, |edge| {
                let sizes = [edge.tails, edge.heads];
                for side in 0..2 {
                    // Without what this edge gave: δ^{−e}.
                    for y in 0..sizes[side] {
                        self.node[edge.node[side] + y] -= self.delta[edge.delta[side] + y];
                    }
                    self.best[side].clear();
                    self.best[side].resize(sizes[side], f64::NEG_INFINITY);
                }
                for (at, &entry) in p.tables().of(edge.e).iter().enumerate() {
                    let (x, y) = (at / edge.heads, at % edge.heads);
                    let (tail, head) = (self.node[edge.node[0] + x], self.node[edge.node[1] + y]);
                    self.best[0][x] = self.best[0][x].max(entry + head);
                    self.best[1][y] = self.best[1][y].max(entry + tail);
                }
                for side in 0..2 {
                    for y in 0..sizes[side] {
                        let (node, best) = (&mut self.node[edge.node[side] + y], self.best[side][y]);
                        let delta = &mut self.delta[edge.delta[side] + y];
                        if *node == f64::NEG_INFINITY || best == f64::NEG_INFINITY {
                            // No labelling has this label.
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

    /// The labels that nodes prefer by themselves, improved one by one; their score.
    fn round(&mut self, p: &Potentials<'_>, max_sweeps: u32) -> f64 {
        let shape = p.shape();
        for (n, label) in self.labels.iter_mut().enumerate() {
            let own = &self.node[shape.node_offset(n)..shape.node_offset(n + 1)];
            *label = (1..own.len()).fold(0, |best, y| if own[y] > own[best] { y } else { best }) as Label;
        }
        feasible::climb(p, &mut self.labels, max_sweeps);
        p.score(&self.labels)
    }
}

/// Where an edge's numbers stand: those of its tail, then those of its head.
struct Ends {
    e: usize,
    tails: usize,
    heads: usize,
    node: [usize; 2],
    delta: [usize; 2],
}

impl Ends {
    fn size(&self) -> usize {
        self.tails * self.heads
    }
}

/// Calls `see` for each edge that leaves node `n`.
fn for_each_edge(shape: &Shape<'_>, n: usize, mut see: impl FnMut(Ends)) {
    let tails = shape.card(n);
    for k in 0..shape.degree(n) {
        let end = shape.incidence(n, k);
        if !end.is_head {
            let other = end.other as usize;
            let node = [shape.node_offset(n), shape.node_offset(other)];
            let delta = [shape.message_offset(n) + k * tails, end.opposite];
            see(Ends { e: end.edge as usize, tails, heads: shape.card(other), node, delta });
        }
    }
}
