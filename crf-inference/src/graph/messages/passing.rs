//! Answers from messages, for every plugin that passes them: beliefs with log Z, the best
//! labelling, and single sweeps.

use crf_core::{Beliefs, Convergence, EdgeBeliefs, Error, Label, Messages, Potentials, Result, Shape};

use crate::errors::impossible;
use crate::graph::feasible::{LabellingSearch, local_scores};
use crate::graph::messages::distant_pairs::DistantPairs;
use crate::graph::messages::factors::{FactorMemory, MessageFactors};
use crate::graph::messages::schedule::Plan;
use crate::graph::messages::semiring::{ProductSemiring, Semiring};
use crate::graph::messages::sweeps::MessageBuffers;
use crate::graph::messages::traversal::NodeOrder;
use crate::log_domain::best_label;
use crate::shifted::{ShiftMemory, Shifted};

/// Memory of a worker.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) shift: ShiftMemory,
    pub(crate) workspace: Workspace,
}

/// Arrays of message passing.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    factors: FactorMemory,
    buffers: MessageBuffers,
    order: NodeOrder,
    search: LabellingSearch,
    labels: Vec<Label>,
    scores: Vec<f64>, // [labels] of one node
    distant: DistantPairs,
}

/// Message passing with given settings on one instance, or on any instance if `rho` is empty.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Passing<'a> {
    pub(crate) plan: Plan,
    /// Edge appearance probabilities; empty if all are 1. `[edges]`
    pub(crate) rho: &'a [f64],
}

/// Result of passing messages: log Z and how it was reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageResult {
    pub(crate) log_z: f64,
    pub(crate) convergence: Convergence,
    /// True if the edges that couple form a forest, on which log Z and beliefs are exact.
    pub(crate) is_forest: bool,
}

impl Passing<'_> {
    /// Beliefs and log Z by sum-product.
    pub(crate) fn infer(
        &self,
        shifted: &Shifted<'_>,
        out: &mut Beliefs<'_>,
        workspace: &mut Workspace,
    ) -> Result<MessageResult> {
        assert_eq!(out.node.len(), shifted.p.node().len(), "one belief per node and label");
        let is_forest = workspace.prepare(shifted);
        if !is_forest && shifted.forbids {
            // Messages see contradictions between neighbours only.
            workspace.search.find(shifted, &mut workspace.labels)?;
        }
        let mut answer = self.infer_in::<ProductSemiring<false, false>>(shifted, out, workspace)?;
        if answer.is_none() {
            answer = self.infer_in::<ProductSemiring<false, true>>(shifted, out, workspace)?;
        }
        let (log_z, convergence) = answer.expect("the log domain is always safe");
        Ok(MessageResult { log_z: shifted.log_z(log_z)?, convergence, is_forest })
    }

    /// A good labelling by max-product; returns true if it is known to be the best.
    ///
    /// Each node takes the best label given the nodes labelled before it and the messages of the
    /// others, which on a forest is Viterbi's way back. On other graphs the labelling is then
    /// improved label by label.
    pub(crate) fn decode(
        &self,
        shifted: &Shifted<'_>,
        labels: &mut [Label],
        workspace: &mut Workspace,
    ) -> Result<(bool, Convergence)> {
        let p = &shifted.p;
        assert_eq!(labels.len(), p.shape().n_nodes(), "one label per node");
        let is_forest = workspace.prepare(shifted);
        let mut convergence = self.decode_in::<ProductSemiring<true, false>>(shifted, labels, workspace)?;
        if convergence.is_none() {
            convergence = self.decode_in::<ProductSemiring<true, true>>(shifted, labels, workspace)?;
        }
        if !is_forest {
            workspace.search.improve(p, labels, self.plan.max_sweeps);
            if p.score(labels) == f64::NEG_INFINITY {
                workspace.search.find(shifted, labels)?;
                workspace.search.improve(p, labels, self.plan.max_sweeps);
            }
        }
        Ok((is_forest, convergence.expect("the log domain is always safe")))
    }

    /// A given number of sweeps over messages that the caller keeps.
    pub(crate) fn pass(
        &self,
        shifted: &Shifted<'_>,
        n_sweeps: u32,
        messages: &mut Messages,
        workspace: &mut Workspace,
    ) -> Result<Convergence> {
        let p = &shifted.p;
        let got = messages.mu.len();
        let want = p.shape().message_offset(p.shape().n_nodes());
        if got != 0 && got != want {
            return Err(Error::data(format!("expected messages of {want} numbers, got {got}")));
        }
        let mut convergence =
            self.pass_in::<ProductSemiring<false, false>>(shifted, n_sweeps, messages, workspace)?;
        if convergence.is_none() {
            convergence =
                self.pass_in::<ProductSemiring<false, true>>(shifted, n_sweeps, messages, workspace)?;
        }
        Ok(convergence.expect("the log domain is always safe"))
    }

    /// [`Passing::infer`] in one semiring; `None` if only the log domain is safe.
    fn infer_in<S: Semiring>(
        &self,
        shifted: &Shifted<'_>,
        out: &mut Beliefs<'_>,
        workspace: &mut Workspace,
    ) -> Result<Option<(f64, Convergence)>> {
        let p = &shifted.p;
        let Workspace { factors, buffers, order, distant, .. } = workspace;
        let Some(factors) = factors.fill::<S>(shifted, self.rho, self.plan.damping) else { return Ok(None) };
        buffers.reset::<S>(&factors);
        let Some(convergence) = buffers.pass::<S>(p, &factors, order, self.plan)? else { return Ok(None) };
        let Some(nodes) = node_beliefs::<S>(&factors, buffers, out.node) else { return Err(impossible(p)) };
        let shape = p.shape();
        let is_distant = |e: usize| {
            let (u, v) = shape.ends(e);
            order.is_forest() && !shifted.couples(e) && order.are_connected(u, v)
        };
        let edges = edge_beliefs::<S>(&factors, buffers, p, &mut out.edge, is_distant);
        let Some(edges) = edges else { return Err(impossible(p)) };
        let n_edges = if matches!(out.edge, EdgeBeliefs::None) { 0 } else { shape.n_edges() };
        for e in (0..n_edges).filter(|&e| is_distant(e)) {
            let ends = shape.ends(e);
            let tail = &out.node[shape.node_offset(ends.0)..shape.node_offset(ends.0 + 1)];
            let joint = distant.joint::<S>(&factors, buffers, order, ends, tail);
            out.edge.put(p, e, joint.iter().copied());
        }
        Ok(Some((nodes + edges, convergence)))
    }

    /// [`Passing::decode`] in one semiring; `None` if only the log domain is safe.
    fn decode_in<S: Semiring>(
        &self,
        shifted: &Shifted<'_>,
        labels: &mut [Label],
        workspace: &mut Workspace,
    ) -> Result<Option<Convergence>> {
        let p = &shifted.p;
        let Workspace { factors, buffers, order, scores, .. } = workspace;
        let Some(factors) = factors.fill::<S>(shifted, self.rho, self.plan.damping) else { return Ok(None) };
        buffers.reset::<S>(&factors);
        let Some(convergence) = buffers.pass::<S>(p, &factors, order, self.plan)? else { return Ok(None) };
        best_labels::<S>(&factors, buffers, p, order, labels, scores);
        let is_impossible = order.is_forest() && p.score(labels) == f64::NEG_INFINITY;
        if is_impossible { Err(impossible(p)) } else { Ok(Some(convergence)) }
    }

    /// [`Passing::pass`] in one semiring; `None` if only the log domain is safe.
    fn pass_in<S: Semiring>(
        &self,
        shifted: &Shifted<'_>,
        n_sweeps: u32,
        messages: &mut Messages,
        workspace: &mut Workspace,
    ) -> Result<Option<Convergence>> {
        let p = &shifted.p;
        let Workspace { factors, buffers, .. } = workspace;
        let Some(factors) = factors.fill::<S>(shifted, self.rho, self.plan.damping) else { return Ok(None) };
        buffers.reset::<S>(&factors);
        if !messages.mu.is_empty() {
            buffers.mu.copy_from_slice(&messages.mu);
            for_each_message(&factors.shape, &mut buffers.mu, |message| {
                let max = message.iter().copied().fold(0.0, f64::max);
                message.iter_mut().for_each(|x| *x = if S::LOG { (*x / max).ln() } else { *x / max });
            });
        }
        let convergence = buffers.pass_sweeps::<S>(p, &factors, n_sweeps, self.plan.tolerance)?;
        if convergence.is_some() {
            let kinds = [(&mut messages.lambda, &buffers.lambda), (&mut messages.mu, &buffers.mu)];
            for (kept, passed) in kinds {
                kept.clear();
                kept.extend_from_slice(passed);
                for_each_message(&factors.shape, kept, |message| {
                    S::normalise(message);
                });
            }
        }
        Ok(convergence)
    }
}

impl Workspace {
    /// Orders the nodes; true if the edges that couple form a forest.
    fn prepare(&mut self, shifted: &Shifted<'_>) -> bool {
        let shape = shifted.p.shape();
        self.order.fill(&shape, |e| shifted.couples(e));
        self.labels.resize(shape.n_nodes(), 0);
        self.order.is_forest()
    }
}

/// Calls `visit` with each message of an array laid out by `Shape::message_offset`.
fn for_each_message(shape: &Shape<'_>, messages: &mut [f64], mut visit: impl FnMut(&mut [f64])) {
    for n in 0..shape.n_nodes() {
        let own = &mut messages[shape.message_offset(n)..shape.message_offset(n + 1)];
        own.chunks_exact_mut(shape.card(n)).for_each(&mut visit);
    }
}

/// Writes node beliefs b_n(y) ∝ ψ_n(y) Π_k μ_{k→n}(y)^ρ and returns Σ_n log Z_n of their
/// normalisers; `None` if a node has no possible label.
fn node_beliefs<S: Semiring>(
    factors: &MessageFactors<'_>,
    buffers: &MessageBuffers,
    out: &mut [f64],
) -> Option<f64> {
    let shape = factors.shape;
    let mut log_z = 0.0;
    for n in 0..shape.n_nodes() {
        let row = &mut out[shape.node_offset(n)..shape.node_offset(n + 1)];
        row.copy_from_slice(factors.node(n));
        let messages = buffers.mu[shape.message_offset(n)..].chunks_exact(row.len()).take(shape.degree(n));
        for (k, mu) in messages.enumerate() {
            let rho = factors.rho(shape.incidence(n, k));
            for (belief, &mu) in row.iter_mut().zip(mu) {
                *belief = S::times(*belief, if rho == 1.0 { mu } else { S::power(mu, rho) });
            }
        }
        let total = S::normalise(row);
        if total == S::ZERO {
            return None;
        }
        log_z += S::log(total);
    }
    Some(log_z)
}

/// Writes edge beliefs b_uv(x, y) ∝ λ_{u→v}(x) exp(A(x, y) / ρ) λ_{v→u}(y) and returns the terms of
/// edges in log Z.
///
/// These are Σ ρ (log Z_uv − log Z_u − log Z_v), with Z_uv, Z_u and Z_v the sums of λ_{u→v}
/// exp(A/ρ) λ_{v→u}, of λ_{u→v} μ_{v→u} and of λ_{v→u} μ_{u→v}. At a fixed point log Z is the Bethe
/// free energy (Yedidia et al. 2005) or its reweighted form (Wainwright et al. 2005, eq. 13); near
/// one, its error is of the order of the squared distance only.
///
/// Edges whose ends depend on each other through others only are left out.
fn edge_beliefs<S: Semiring>(
    factors: &MessageFactors<'_>,
    buffers: &MessageBuffers,
    p: &Potentials<'_>,
    out: &mut EdgeBeliefs<'_>,
    is_distant: impl Fn(usize) -> bool,
) -> Option<f64> {
    let shape = factors.shape;
    let mut log_z = 0.0;
    for n in 0..shape.n_nodes() {
        let n_tail_labels = shape.card(n);
        for k in 0..shape.degree(n) {
            let end = shape.incidence(n, k);
            if end.is_head {
                continue;
            }
            let n_head_labels = shape.card(end.other as usize);
            let size = n_tail_labels * n_head_labels;
            let tail_offset = shape.message_offset(n) + k * n_tail_labels;
            let head_offset = end.opposite;
            let tail = |x: usize| buffers.lambda[tail_offset + x];
            let head = |y: usize| buffers.lambda[head_offset + y];
            let table = factors.table(end.edge, size);
            let pair =
                |xy: usize| S::times(S::times(tail(xy / n_head_labels), table[xy]), head(xy % n_head_labels));
            let sum = |n: usize, number: &dyn Fn(usize) -> f64| {
                (0..n).fold(S::ZERO, |sum, i| S::add(sum, number(i)))
            };
            let total = sum(size, &pair);
            let ends = [
                sum(n_tail_labels, &|x| S::times(tail(x), buffers.mu[tail_offset + x])),
                sum(n_head_labels, &|y| S::times(head(y), buffers.mu[head_offset + y])),
            ];
            if total == S::ZERO || ends.contains(&S::ZERO) {
                return None;
            }
            log_z += factors.rho(end) * (S::log(total) - S::log(ends[0]) - S::log(ends[1]));
            if is_distant(end.edge as usize) {
                continue;
            }
            // As in `Semiring::normalise`, shares need not sum to one.
            let shares: f64 = (0..size).map(|xy| S::share(pair(xy), total)).sum();
            out.put(p, end.edge as usize, (0..size).map(|xy| S::share(pair(xy), total) / shares));
        }
    }
    Some(log_z)
}

/// Labels each node in order with its best label, given those labelled before it and the messages
/// of the others.
fn best_labels<S: Semiring>(
    factors: &MessageFactors<'_>,
    buffers: &MessageBuffers,
    p: &Potentials<'_>,
    order: &NodeOrder,
    labels: &mut [Label],
    scores: &mut Vec<f64>,
) {
    const UNLABELLED: Label = Label::MAX;
    let shape = factors.shape;
    labels.fill(UNLABELLED);
    for &n in order.nodes() {
        let n = n as usize;
        let known_label = |other: usize| (labels[other] != UNLABELLED).then_some(labels[other]);
        local_scores(p, n, known_label, scores);
        for k in 0..shape.degree(n) {
            let end = shape.incidence(n, k);
            if labels[end.other as usize] == UNLABELLED {
                let mu = &buffers.mu[shape.message_offset(n) + k * scores.len()..];
                scores.iter_mut().zip(mu).for_each(|(score, &mu)| *score += factors.rho(end) * S::log(mu));
            }
        }
        labels[n] = best_label(scores);
    }
}
