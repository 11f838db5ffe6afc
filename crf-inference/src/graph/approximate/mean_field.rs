use crf_core::{
    Beliefs, Bound, Convergence, Decoded, EdgeBeliefs, Inference, Label, LogZ, Marginals, Potentials, Result,
    Scratch, Shape, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::{check_sweeps, finite_score};
use crate::graph::feasible::LabellingSearch;
use crate::log_domain::{best_label, normalise};
use crate::shifted::{ShiftMemory, Shifted};

/// Mean field: the independent node distributions q nearest to the true distribution, and a lower
/// bound on log Z.
///
/// Wainwright and Jordan (2008), §5.3: one node after another,
/// `q_n(y) ∝ exp(node(n, y) + Σ_k E_q[table])`, each of which raises the bound. Edge marginals are
/// products of node marginals. Where something is forbidden, q starts at a possible labelling,
/// because independent nodes can exclude more labels than they should, and an excluded label never
/// returns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MeanField {
    /// Convergence tolerance: q has converged when no probability changes by more than this in a
    /// sweep.
    pub tolerance: f64,
    /// Maximum number of sweeps over all nodes.
    pub max_sweeps: u32,
}

impl Default for MeanField {
    fn default() -> Self {
        MeanField { tolerance: 1e-9, max_sweeps: 1000 }
    }
}

crf_core::plugin!("inference", MeanField, "mean-field");

/// Memory of a worker.
#[derive(Debug, Default)]
struct Workspace {
    shift: ShiftMemory,
    q: Vec<f64>, // [nodes × labels]
    ascent: Ascent,
}

/// Memory of the ascent.
#[derive(Debug, Default)]
struct Ascent {
    search: LabellingSearch,
    labels: Vec<Label>, // [nodes] a possible labelling
    scores: Vec<f64>,   // [labels] of one node
}

#[typetag::serde(name = "mean-field")]
impl Inference for MeanField {
    fn check(&self) -> Result<()> {
        check_sweeps(self.tolerance, self.max_sweeps)
    }

    fn supports(&self, _shape: &Shape<'_>) -> Result<()> {
        Ok(())
    }

    fn decode(&self, p: &Potentials<'_>, labels: &mut [Label], scratch: &mut Scratch) -> Result<Decoded> {
        let Workspace { shift, q, ascent } = scratch.get();
        let shifted = shift.shift(p)?;
        q.resize(p.node().len(), 0.0);
        let convergence = self.ascend(&shifted, q, ascent)?;
        for (n, label) in labels.iter_mut().enumerate() {
            *label = best_label(&q[p.shape().node_offset(n)..p.shape().node_offset(n + 1)]);
        }
        ascent.search.improve(&shifted.p, labels, self.max_sweeps);
        Ok(Decoded { score: finite_score(p, labels)?, upper: None, convergence })
    }

    fn as_marginals(&self) -> Option<&dyn Marginals> {
        Some(self)
    }
}

impl Marginals for MeanField {
    fn marginals(&self, p: &Potentials<'_>, out: &mut Beliefs<'_>, scratch: &mut Scratch) -> Result<LogZ> {
        let Workspace { shift, ascent, .. } = scratch.get();
        let shifted = shift.shift(p)?;
        let convergence = self.ascend(&shifted, out.node, ascent)?;
        let value = shifted.log_z(lower_bound(&shifted.p, out.node))?;
        if !matches!(out.edge, EdgeBeliefs::None) {
            for e in 0..p.shape().n_edges() {
                let (tail, head) = end_distributions(p, out.node, e);
                out.edge.put(p, e, tail.iter().flat_map(|x| head.iter().map(move |y| x * y)));
            }
        }
        Ok(LogZ { value, bound: Bound::Lower, convergence })
    }
}

impl MeanField {
    /// Coordinate ascent on the lower bound, until convergence.
    fn ascend(&self, shifted: &Shifted<'_>, q: &mut [f64], ascent: &mut Ascent) -> Result<Convergence> {
        let p = &shifted.p;
        assert_eq!(q.len(), p.node().len(), "one belief per node and label");
        initialise(shifted, q, ascent)?;
        let scores = &mut ascent.scores;
        let shape = p.shape();
        let mut convergence = Convergence { stop: Stop::Budget, sweeps: 0, residual: f64::INFINITY };
        while convergence.sweeps < self.max_sweeps && convergence.stop == Stop::Budget {
            convergence.residual = 0.0;
            for n in 0..shape.n_nodes() {
                expected_scores(p, q, n, scores);
                normalise(scores);
                let own = &mut q[shape.node_offset(n)..shape.node_offset(n + 1)];
                for (q, &new) in own.iter_mut().zip(scores.iter()) {
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

/// Starts from each node by itself, or from a possible labelling where something is forbidden.
fn initialise(shifted: &Shifted<'_>, q: &mut [f64], ascent: &mut Ascent) -> Result<()> {
    let shape = shifted.p.shape();
    if shifted.forbids {
        let Ascent { search, labels, .. } = ascent;
        labels.clear();
        labels.resize(shape.n_nodes(), 0);
        search.find(shifted, labels)?;
        q.fill(0.0);
        labels.iter().enumerate().for_each(|(n, &y)| q[shape.node_offset(n) + y as usize] = 1.0);
        return Ok(());
    }
    q.copy_from_slice(shifted.p.node());
    for n in 0..shape.n_nodes() {
        normalise(&mut q[shape.node_offset(n)..shape.node_offset(n + 1)]);
    }
    Ok(())
}

/// `probability · score`; 0 if the probability is 0, even if the score is −∞.
fn weighted_score(probability: f64, score: f64) -> f64 {
    if probability == 0.0 { 0.0 } else { probability * score }
}

/// Computes `node(n, y) + Σ_k E_q[table(y, y_k)]` for all labels of node `n`.
fn expected_scores(p: &Potentials<'_>, q: &[f64], n: usize, scores: &mut Vec<f64>) {
    let shape = p.shape();
    scores.clear();
    scores.extend_from_slice(&p.node()[shape.node_offset(n)..shape.node_offset(n + 1)]);
    let n_labels = scores.len();
    for k in 0..shape.degree(n) {
        let end = shape.incidence(n, k);
        let other = end.other as usize;
        let table = p.tables().of(end.edge as usize);
        let q = &q[shape.node_offset(other)..shape.node_offset(other + 1)];
        for (y, score) in scores.iter_mut().enumerate() {
            let entry = |x: usize| table[if end.is_head { x * n_labels + y } else { y * q.len() + x }];
            *score += (0..q.len()).map(|x| weighted_score(q[x], entry(x))).sum::<f64>();
        }
    }
}

/// Distributions of the tail and the head of edge `e`.
fn end_distributions<'a>(p: &Potentials<'_>, q: &'a [f64], e: usize) -> (&'a [f64], &'a [f64]) {
    let shape = p.shape();
    let (u, v) = shape.ends(e);
    let node = |n: usize| &q[shape.node_offset(n)..shape.node_offset(n + 1)];
    (node(u), node(v))
}

/// The lower bound `E_q[score] + H(q)` ≤ log Z.
fn lower_bound(p: &Potentials<'_>, q: &[f64]) -> f64 {
    let node = q.iter().zip(p.node()).map(|(&q, &score)| weighted_score(q, score - q.ln()));
    let edge = (0..p.shape().n_edges()).map(|e| {
        let (tail, head) = end_distributions(p, q, e);
        let pairs = tail.iter().flat_map(|x| head.iter().map(move |y| x * y));
        pairs.zip(p.tables().of(e)).map(|(q, &score)| weighted_score(q, score)).sum::<f64>()
    });
    node.sum::<f64>() + edge.sum::<f64>()
}
