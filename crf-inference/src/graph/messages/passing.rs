//! Answers from messages, for every algorithm that passes them.

use crf_core::{Beliefs, Convergence, EdgeBeliefs, Error, Label, Messages, Potentials, Result, Shape};

use crate::errors::{check_finite, has_forbidden, impossible};
use crate::graph::feasible;
use crate::graph::messages::factors::{Factors, MessageFactors};
use crate::graph::messages::schedule::{MessageBuffers, Plan};
use crate::graph::messages::semiring::{Products, Semiring};
use crate::graph::messages::traversal::{Order, ties};

/// What a worker keeps between instances.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    factors: Factors,
    mail: MessageBuffers,
    order: Order,
    labels: Vec<Label>,
}

/// How messages are passed; `rho` is empty, or says how often each edge counts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Passing<'a> {
    pub(crate) plan: Plan,
    pub(crate) damping: f64,
    pub(crate) rho: &'a [f64],
}

/// What messages say of log Z.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageResult {
    pub(crate) log_z: f64,
    pub(crate) convergence: Convergence,
    /// A forest's answers are exact.
    pub(crate) is_forest: bool,
}

impl Passing<'_> {
    /// Beliefs and log Z from sums of products.
    pub(crate) fn infer(
        &self,
        p: &Potentials<'_>,
        out: &mut Beliefs<'_>,
        workspace: &mut Workspace,
    ) -> Result<MessageResult> {
        assert_eq!(out.node.len(), p.node().len(), "one belief per node and label");
        let is_forest = workspace.start(p)?;
        if !is_forest && has_forbidden(p) {
            // Messages see contradictions of neighbours only.
            feasible::labelling(p, &mut workspace.labels)?;
        }
        let mut answer = self.infer_in::<Products<false, false>>(p, out, workspace)?;
        if answer.is_none() {
            answer = self.infer_in::<Products<false, true>>(p, out, workspace)?;
        }
        let (log_z, convergence) = answer.expect("the log domain is always safe");
        Ok(MessageResult { log_z, convergence, is_forest })
    }

    /// The labelling that maxima of products prefer, whether it is known to be the best, and how they came to it.
    ///
    /// Each node takes the best label given the nodes decided before it and the messages of the others, which on a forest
    /// is Viterbi's way back. On other graphs single labels are then changed while that helps.
    pub(crate) fn decode(
        &self,
        p: &Potentials<'_>,
        labels: &mut [Label],
        workspace: &mut Workspace,
    ) -> Result<(bool, Convergence)> {
        assert_eq!(labels.len(), p.shape().n_nodes(), "one label per node");
        let is_forest = workspace.start(p)?;
        let mut convergence = self.decode_in::<Products<true, false>>(p, labels, workspace)?;
        if convergence.is_none() {
            convergence = self.decode_in::<Products<true, true>>(p, labels, workspace)?;
        }
        if !is_forest {
            feasible::climb(p, labels, self.plan.max_sweeps);
            if p.score(labels) == f64::NEG_INFINITY {
                feasible::required(p, labels)?;
                feasible::climb(p, labels, self.plan.max_sweeps);
            }
        }
        Ok((is_forest, convergence.expect("the log domain is always safe")))
    }

    /// A few sweeps over messages that the caller keeps.
    pub(crate) fn pass(
        &self,
        p: &Potentials<'_>,
        sweeps: u32,
        messages: &mut Messages,
        workspace: &mut Workspace,
    ) -> Result<Convergence> {
        check_finite(p)?;
        let (got, want) = (messages.mu.len(), p.shape().message_offset(p.shape().n_nodes()));
        if got != 0 && got != want {
            return Err(Error::data(format!("expected messages of {want} numbers, got {got}")));
        }
        let mut convergence = self.pass_in::<Products<false, false>>(p, sweeps, messages, workspace)?;
        if convergence.is_none() {
            convergence = self.pass_in::<Products<false, true>>(p, sweeps, messages, workspace)?;
        }
        Ok(convergence.expect("the log domain is always safe"))
    }

    fn infer_in<S: Semiring>(
        &self,
        p: &Potentials<'_>,
        out: &mut Beliefs<'_>,
        workspace: &mut Workspace,
    ) -> Result<Option<(f64, Convergence)>> {
        let Workspace { factors, mail, order, .. } = workspace;
        let Some(net) = factors.fill::<S>(p, self.rho, self.damping) else { return Ok(None) };
        mail.reset::<S>(&net);
        let Some(convergence) = mail.pass::<S>(p, &net, order, self.plan)? else { return Ok(None) };
        let log_z = node_beliefs::<S>(&net, mail, out.node)
            .and_then(|nodes| Some(nodes + edge_beliefs::<S>(&net, mail, p, &mut out.edge)?));
        log_z.map(|log_z| Some((net.shift + log_z, convergence))).ok_or_else(|| impossible(p))
    }

    fn decode_in<S: Semiring>(
        &self,
        p: &Potentials<'_>,
        labels: &mut [Label],
        workspace: &mut Workspace,
    ) -> Result<Option<Convergence>> {
        let Workspace { factors, mail, order, .. } = workspace;
        let Some(net) = factors.fill::<S>(p, self.rho, self.damping) else { return Ok(None) };
        mail.reset::<S>(&net);
        let Some(convergence) = mail.pass::<S>(p, &net, order, self.plan)? else { return Ok(None) };
        best_labels::<S>(&net, mail, p, order, labels);
        let impossible_forest = order.is_forest() && p.score(labels) == f64::NEG_INFINITY;
        if impossible_forest { Err(impossible(p)) } else { Ok(Some(convergence)) }
    }

    fn pass_in<S: Semiring>(
        &self,
        p: &Potentials<'_>,
        sweeps: u32,
        messages: &mut Messages,
        workspace: &mut Workspace,
    ) -> Result<Option<Convergence>> {
        let Workspace { factors, mail, .. } = workspace;
        let Some(net) = factors.fill::<S>(p, self.rho, self.damping) else { return Ok(None) };
        mail.reset::<S>(&net);
        if !messages.mu.is_empty() {
            mail.mu.copy_from_slice(&messages.mu);
            for_each_message(&net.shape, &mut mail.mu, |message| {
                let max = message.iter().copied().fold(0.0, f64::max);
                message.iter_mut().for_each(|x| *x = if S::LOG { (*x / max).ln() } else { *x / max });
            });
        }
        let convergence = mail.pass_few::<S>(p, &net, sweeps, self.plan.tolerance)?;
        if convergence.is_some() {
            for (to, from) in [(&mut messages.lambda, &mail.lambda), (&mut messages.mu, &mail.mu)] {
                to.clear();
                to.extend_from_slice(from);
                for_each_message(&net.shape, to, |message| {
                    normalise::<S>(message);
                });
            }
        }
        Ok(convergence)
    }
}

impl Workspace {
    /// Walks through the graph; whether it is a forest.
    fn start(&mut self, p: &Potentials<'_>) -> Result<bool> {
        check_finite(p)?;
        self.order.fill(&p.shape(), |e| ties(p, e));
        self.labels.resize(p.shape().n_nodes(), 0);
        Ok(self.order.is_forest())
    }
}

/// Calls `see` with each message of an array of them.
fn for_each_message(shape: &Shape<'_>, messages: &mut [f64], mut see: impl FnMut(&mut [f64])) {
    for n in 0..shape.n_nodes() {
        let own = &mut messages[shape.message_offset(n)..shape.message_offset(n + 1)];
        own.chunks_exact_mut(shape.card(n)).for_each(&mut see);
    }
}

/// Makes probabilities of some numbers; their sum, zero when they are all impossible.
fn normalise<S: Semiring>(row: &mut [f64]) -> f64 {
    let total = row.iter().fold(S::ZERO, |total, &x| S::add(total, x));
    if total != S::ZERO {
        row.iter_mut().for_each(|x| *x = S::share(*x, total));
        // On a graph whose messages never settle logarithms can grow until their last digit is worth more than one.
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
    }
    total
}

/// b_n(y) ∝ ψ_n(y) Π_k μ_{k→n}(y)^ρ; the sum of the logarithms of their normalisers.
fn node_beliefs<S: Semiring>(
    net: &MessageFactors<'_>,
    mail: &MessageBuffers,
    out: &mut [f64],
) -> Option<f64> {
    let shape = net.shape;
    let mut log_z = 0.0;
    for n in 0..shape.n_nodes() {
        let row = &mut out[shape.node_offset(n)..shape.node_offset(n + 1)];
        row.copy_from_slice(net.node(n));
        for (k, mu) in
            mail.mu[shape.message_offset(n)..].chunks_exact(row.len()).take(shape.degree(n)).enumerate()
        {
            let rho = net.rho(shape.incidence(n, k));
            for (belief, &mu) in row.iter_mut().zip(mu) {
                *belief = S::times(*belief, if rho == 1.0 { mu } else { S::power(mu, rho) });
            }
        }
        let total = normalise::<S>(row);
        if total == S::ZERO {
            return None;
        }
        log_z += S::log(total);
    }
    Some(log_z)
}

/// b_uv(x, y) ∝ λ_{u→v}(x) exp(A(x, y) / ρ) λ_{v→u}(y); what edges add to log Z.
///
/// With Z_uv, Z_u and Z_v the sums of λ_{u→v} exp(A/ρ) λ_{v→u}, of λ_{u→v} μ_{v→u} and of λ_{v→u} μ_{u→v}, that is Σ ρ (log Z_uv − log Z_u
/// − log Z_v): at a fixed point the Bethe free energy (Yedidia et al. 2005) or its reweighted form (Wainwright et
/// al. 2005, eq. 13), and near one wrong by the square of the distance only.
fn edge_beliefs<S: Semiring>(
    net: &MessageFactors<'_>,
    mail: &MessageBuffers,
    p: &Potentials<'_>,
    out: &mut EdgeBeliefs<'_>,
) -> Option<f64> {
    let shape = net.shape;
    let mut log_z = 0.0;
    for n in 0..shape.n_nodes() {
        let labels = shape.card(n);
        for k in 0..shape.degree(n) {
            let end = shape.incidence(n, k);
            if end.is_head {
                continue;
            }
            let others = shape.card(end.other as usize);
            let (here, there) = (shape.message_offset(n) + k * labels, end.opposite);
            let tail = |x: usize| mail.lambda[here + x];
            let head = |y: usize| mail.lambda[there + y];
            let table = net.table(end.edge, labels * others);
            let pair = |at: usize| S::times(S::times(tail(at / others), table[at]), head(at % others));
            let sum = |n: usize, number: &dyn Fn(usize) -> f64| {
                (0..n).fold(S::ZERO, |sum, i| S::add(sum, number(i)))
            };
            let total = sum(labels * others, &pair);
            let ends = [
                sum(labels, &|x| S::times(tail(x), mail.mu[here + x])),
                sum(others, &|y| S::times(head(y), mail.mu[there + y])),
            ];
            if total == S::ZERO || ends.contains(&S::ZERO) {
                return None;
            }
            log_z += net.rho(end) * (S::log(total) - S::log(ends[0]) - S::log(ends[1]));
            // As in `normalise`, shares need not sum to one.
            let shares: f64 = (0..labels * others).map(|at| S::share(pair(at), total)).sum();
            out.put(p, end.edge as usize, (0..labels * others).map(|at| S::share(pair(at), total) / shares));
        }
    }
    Some(log_z)
}

/// The best label of each node given those decided before it and the messages of the others.
fn best_labels<S: Semiring>(
    net: &MessageFactors<'_>,
    mail: &MessageBuffers,
    p: &Potentials<'_>,
    order: &Order,
    labels: &mut [Label],
) {
    const OPEN: Label = Label::MAX;
    let shape = net.shape;
    labels.fill(OPEN);
    for &n in order.nodes() {
        let n = n as usize;
        let (mut best, mut best_score) = (0, f64::NEG_INFINITY);
        for y in 0..shape.card(n) {
            let decided = |other: usize| (labels[other] != OPEN).then_some(labels[other]);
            let mut score = feasible::local_score(p, n, y as Label, decided);
            for k in 0..shape.degree(n) {
                let end = shape.incidence(n, k);
                if labels[end.other as usize] == OPEN {
                    let mu = mail.mu[shape.message_offset(n) + k * shape.card(n) + y];
                    score += net.rho(end) * S::log(mu);
                }
            }
            if score > best_score {
                (best, best_score) = (y, score);
            }
        }
        labels[n] = best as Label;
    }
}
