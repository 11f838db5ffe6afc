use crf_core::{
    Beliefs, Bound, Convergence, Decoded, EdgeBeliefs, Inference, Label, LogZ, Marginals, Potentials, Result,
    Scratch, Shape, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::{check_finite, has_forbidden, impossible};
use crate::graph::feasible;
use crate::log_domain::log_sum_exp;

/// Mean field: the independent distributions of nodes nearest to the true one, and a lower bound on log Z.
///
/// Wainwright and Jordan (2008), §5.3: node after node, `q_n(y) ∝ exp(node(n, y) + Σ_k E_q[table])`, each of which raises the
/// bound. Edge marginals are products of node marginals. Where something is forbidden it starts at a possible labelling,
/// because nodes that are independent can rule out more than they should, and never comes back from that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MeanField {
    /// Probabilities that change less than this in a sweep have converged.
    pub tolerance: f64,
    /// Sweeps over all nodes before giving up.
    pub max_sweeps: u32,
}

impl Default for MeanField {
    fn default() -> Self {
        MeanField { tolerance: 1e-9, max_sweeps: 1000 }
    }
}

crf_core::plugin!("inference", MeanField, "mean-field");

/// What a worker keeps between instances.
#[derive(Debug, Default)]
struct Workspace {
    q: Vec<f64>,   // [nodes × labels]
    row: Vec<f64>, // [labels]
}

#[typetag::serde(name = "mean-field")]
impl Inference for MeanField {
    fn check(&self) -> Result<()> {
        crate::graph::check_sweeps(self.tolerance, self.max_sweeps)
    }

    fn supports(&self, _shape: &Shape<'_>) -> Result<()> {
        Ok(())
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded> {
        let Workspace { q, row } = scratch.get();
        q.resize(p.node().len(), 0.0);
        let convergence = self.ascend(p, q, row)?;
        for (n, label) in labels.iter_mut().enumerate() {
            let q = &q[p.shape().node_offset(n)..p.shape().node_offset(n + 1)];
            *label = (1..q.len()).fold(0, |best, y| if q[y] > q[best] { y } else { best }) as Label;
        }
        feasible::climb(p, labels, self.max_sweeps);
        Ok(Decoded { score: p.score(labels), upper: None, convergence })
    }

    fn as_marginals(&self) -> Option<&dyn Marginals> {
        Some(self)
    }
}

impl Marginals for MeanField {
    fn marginals(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>, scratch: &mut Scratch) -> Result<LogZ> {
        let Workspace { row, .. } = scratch.get();
        let convergence = self.ascend(p, out.node, row)?;
        let value = bound(p, out.node);
        if !matches!(out.edge, EdgeBeliefs::None) {
            for e in 0..p.shape().n_edges() {
                let (tail, head) = ends(p, out.node, e);
                out.edge.put(p, e, tail.iter().flat_map(|x| head.iter().map(move |y| x * y)));
            }
        }
        Ok(LogZ { value, bound: Bound::Lower, convergence })
    }
}

impl MeanField {
    /// Raises the bound until it hardly moves.
    fn ascend(&self, p: &Potentials<'_>, q: &mut [f64], row: &mut Vec<f64>) -> Result<Convergence> {
        assert_eq!(q.len(), p.node().len(), "one belief per node and label");
        check_finite(p)?;
        start(p, q)?;
        let shape = p.shape();
        let mut convergence = Convergence { stop: Stop::Budget, sweeps: 0, residual: f64::INFINITY };
        while convergence.sweeps < self.max_sweeps && convergence.stop == Stop::Budget {
            convergence.residual = 0.0;
            for n in 0..shape.n_nodes() {
                field(p, q, n, row);
                let total = log_sum_exp(row.iter().copied());
                let own = &mut q[shape.node_offset(n)..shape.node_offset(n + 1)];
                for (q, score) in own.iter_mut().zip(row.iter()) {
                    let new = (score - total).exp();
                    convergence.residual = convergence.residual.max((new - *q).abs());
                    *q = new;
                }
            }
            convergence.sweeps += 1;
            if convergence.residual <= self.tolerance {
                convergence.stop = Stop::Converged;
            }
        }
        Ok(convergence)
    }
}

/// Each node by itself, or a possible labelling where something is forbidden.
fn start(p: &Potentials<'_>, q: &mut [f64]) -> Result<()> {
    let shape = p.shape();
    if has_forbidden(p) {
        let mut labels = vec![0; shape.n_nodes()];
        feasible::required(p, &mut labels)?;
        q.fill(0.0);
        labels.iter().enumerate().for_each(|(n, &y)| q[shape.node_offset(n) + y as usize] = 1.0);
        return Ok(());
    }
    for n in 0..shape.n_nodes() {
        let own = shape.node_offset(n)..shape.node_offset(n + 1);
        let total = log_sum_exp(p.node()[own.clone()].iter().copied());
        if total == f64::NEG_INFINITY {
            return Err(impossible(p));
        }
        q[own.clone()].iter_mut().zip(&p.node()[own]).for_each(|(q, score)| *q = (score - total).exp());
    }
    Ok(())
}

/// `probability · score`, where what never happens costs nothing even if it is forbidden.
fn times(probability: f64, score: f64) -> f64 {
    if probability == 0.0 { 0.0 } else { probability * score }
}

/// node(n, y) + Σ_k E_q[table(y, y_k)] for all labels of a node.
fn field(p: &Potentials<'_>, q: &[f64], n: usize, row: &mut Vec<f64>) {
    let shape = p.shape();
    row.clear();
    row.extend_from_slice(&p.node()[shape.node_offset(n)..shape.node_offset(n + 1)]);
    let labels = row.len();
    for k in 0..shape.degree(n) {
        let end = shape.incidence(n, k);
        let other = end.other as usize;
        let table = p.tables().of(end.edge as usize);
        let q = &q[shape.node_offset(other)..shape.node_offset(other + 1)];
        for (y, score) in row.iter_mut().enumerate() {
            let entry = |x: usize| table[if end.is_head { x * labels + y } else { y * q.len() + x }];
            *score += (0..q.len()).map(|x| times(q[x], entry(x))).sum::<f64>();
        }
    }
}

fn ends<'a>(p: &Potentials<'_>, q: &'a [f64], e: usize) -> (&'a [f64], &'a [f64]) {
    let shape = p.shape();
    let (u, v) = shape.ends(e);
    (&q[shape.node_offset(u)..shape.node_offset(u + 1)], &q[shape.node_offset(v)..shape.node_offset(v + 1)])
}

/// E_q[score] + H(q) ≤ log Z.
fn bound(p: &Potentials<'_>, q: &[f64]) -> f64 {
    let node = q.iter().zip(p.node()).map(|(&q, &score)| times(q, score - q.ln()));
    let edge = (0..p.shape().n_edges()).map(|e| {
        let (tail, head) = ends(p, q, e);
        let pairs = tail.iter().flat_map(|x| head.iter().map(move |y| x * y));
        pairs.zip(p.tables().of(e)).map(|(q, &score)| times(q, score)).sum::<f64>()
    });
    node.sum::<f64>() + edge.sum::<f64>()
}
