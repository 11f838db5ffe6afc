//! The loop over messages: until convergence under each schedule, or for a given number of sweeps.

use std::marker::PhantomData;
use std::ops::Range;

use crf_core::simd::{Kernel, dispatch};
use crf_core::{Convergence, Potentials, Result, Stop};

use crate::errors::impossible;
use crate::graph::messages::factors::MessageFactors;
use crate::graph::messages::residual_queue::ResidualQueue;
use crate::graph::messages::schedule::{MessageSchedule, Plan};
use crate::graph::messages::semiring::Semiring;
use crate::graph::messages::traversal::NodeOrder;
use crate::graph::messages::update::{UpdateOutcome, card, receive, update_lambdas, update_mu, update_mus};

/// The messages of one instance, each array laid out by `Shape::message_offset`.
#[derive(Debug, Default)]
pub(crate) struct MessageBuffers {
    pub(crate) lambda: Vec<f64>,
    pub(crate) mu: Vec<f64>,
    new_mu: Vec<f64>, // μ before damping; under the residual schedule those not yet received
    queue: ResidualQueue,
}

/// Maximum number of nodes that are updated without another split.
const NODES_PER_TASK: usize = 4096;

impl MessageBuffers {
    /// Makes all messages uniform.
    pub(crate) fn reset<S: Semiring>(&mut self, factors: &MessageFactors<'_>) {
        let size = factors.shape.message_offset(factors.shape.n_nodes());
        for messages in [&mut self.lambda, &mut self.mu, &mut self.new_mu] {
            messages.clear();
            messages.resize(size, S::ONE);
        }
    }

    /// Passes messages until convergence; `None` if only the log domain is safe.
    ///
    /// A forest takes two sweeps under every schedule: from the leaves to the roots and back.
    pub(crate) fn pass<S: Semiring>(
        &mut self,
        p: &Potentials<'_>,
        factors: &MessageFactors<'_>,
        order: &NodeOrder,
        plan: Plan,
    ) -> Result<Option<Convergence>> {
        let is_forest = order.is_forest();
        let order = order.nodes();
        self.update_all_lambdas::<S>(factors);
        if is_forest {
            let factors = &factors.undamped();
            let up =
                run_loop::<S, _>(factors, SequentialSweep { factors, buffers: self, order, backwards: true });
            let down = run_loop::<S, _>(
                factors,
                SequentialSweep { factors, buffers: self, order, backwards: false },
            );
            let convergence = Convergence { stop: Stop::Direct, sweeps: 2, residual: 0.0 };
            return finish(p, up.and(down), convergence);
        }
        let mut convergence = Convergence { stop: Stop::Budget, sweeps: 0, residual: f64::INFINITY };
        if plan.schedule == MessageSchedule::Residual {
            let residual_loop =
                ResidualLoop { factors, buffers: self, order, plan, convergence: &mut convergence };
            let outcome = run_loop::<S, _>(factors, residual_loop);
            return finish(p, outcome, convergence);
        }
        let mut total = UpdateOutcome::NONE;
        while convergence.sweeps < plan.max_sweeps && total.is_safe && total.is_possible {
            let outcome = match plan.schedule {
                MessageSchedule::Parallel => {
                    self.update_all_mus::<S>(factors).and(self.update_all_lambdas::<S>(factors))
                }
                _ => {
                    let backwards = convergence.sweeps.is_multiple_of(2);
                    run_loop::<S, _>(factors, SequentialSweep { factors, buffers: self, order, backwards })
                }
            };
            convergence.sweeps += 1;
            convergence.residual = outcome.residual;
            total = total.and(outcome);
            if outcome.residual <= plan.tolerance {
                convergence.stop = Stop::Converged;
                break;
            }
        }
        finish(p, total, convergence)
    }

    /// Updates all λ from the present μ and then all μ from these λ, `n_sweeps` times; `None` if
    /// only the log domain is safe.
    pub(crate) fn pass_sweeps<S: Semiring>(
        &mut self,
        p: &Potentials<'_>,
        factors: &MessageFactors<'_>,
        n_sweeps: u32,
        tolerance: f64,
    ) -> Result<Option<Convergence>> {
        let mut total = UpdateOutcome::NONE;
        let mut residual = 0.0;
        for _ in 0..n_sweeps {
            let outcome = self.update_all_lambdas::<S>(factors).and(self.update_all_mus::<S>(factors));
            residual = outcome.residual;
            total = total.and(outcome);
        }
        let stop = if residual <= tolerance { Stop::Converged } else { Stop::Budget };
        finish(p, total, Convergence { stop, sweeps: n_sweeps, residual })
    }

    /// Updates all μ from the present λ, on all cores if the graph is large.
    fn update_all_mus<S: Semiring>(&mut self, factors: &MessageFactors<'_>) -> UpdateOutcome {
        let MessageBuffers { lambda, mu, new_mu, .. } = self;
        for_node_ranges(factors, 0..factors.shape.n_nodes(), mu, new_mu, &|nodes, mu, new_mu| {
            run_loop::<S, _>(factors, MuUpdates { factors, nodes, lambda, mu, new_mu })
        })
    }

    /// Updates all λ from the present μ, on all cores if the graph is large.
    fn update_all_lambdas<S: Semiring>(&mut self, factors: &MessageFactors<'_>) -> UpdateOutcome {
        let MessageBuffers { lambda, mu, new_mu, .. } = self;
        for_node_ranges(factors, 0..factors.shape.n_nodes(), lambda, new_mu, &|nodes, lambda, _| {
            run_loop::<S, _>(factors, LambdaUpdates { factors, nodes, mu, lambda })
        })
    }
}

/// The answer of a loop; `None` if a number came near to underflow, an error if a message allows no
/// label.
fn finish(
    p: &Potentials<'_>,
    outcome: UpdateOutcome,
    convergence: Convergence,
) -> Result<Option<Convergence>> {
    match (outcome.is_safe, outcome.is_possible) {
        (false, _) => Ok(None),
        (true, false) => Err(impossible(p)),
        (true, true) => Ok(Some(convergence)),
    }
}

/// Applies `work` to a range of nodes, split in halves over threads while there are many nodes.
///
/// The two arrays are split between nodes. Every message is computed from others that do not change
/// meanwhile, so that the result depends neither on the splits nor on the threads.
fn for_node_ranges(
    factors: &MessageFactors<'_>,
    nodes: Range<usize>,
    a: &mut [f64],
    b: &mut [f64],
    work: &(impl Fn(Range<usize>, &mut [f64], &mut [f64]) -> UpdateOutcome + Sync),
) -> UpdateOutcome {
    if nodes.len() <= NODES_PER_TASK {
        return work(nodes, a, b);
    }
    let middle = nodes.start + nodes.len() / 2;
    let split = factors.shape.message_offset(middle) - factors.shape.message_offset(nodes.start);
    let (first_a, second_a) = a.split_at_mut(split);
    let (first_b, second_b) = b.split_at_mut(split);
    let (first, second) = rayon::join(
        || for_node_ranges(factors, nodes.start..middle, first_a, first_b, work),
        || for_node_ranges(factors, middle..nodes.end, second_a, second_b, work),
    );
    first.and(second)
}

/// A loop over messages, compiled twice: for two labels at every node (`L` = 2) and for any numbers
/// of labels (`L` = 0).
trait MessageLoop<S> {
    fn run<const L: usize, const FMA: bool>(self) -> UpdateOutcome;
}

/// A [`MessageLoop`] as a kernel for each instruction set.
struct LoopKernel<S, T, const L: usize>(T, PhantomData<S>);

impl<S, T: MessageLoop<S>, const L: usize> Kernel for LoopKernel<S, T, L> {
    type Output = UpdateOutcome;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> UpdateOutcome {
        self.0.run::<L, FMA>()
    }
}

/// Runs the version of a loop that was compiled for the processor and for the graph's numbers of
/// labels.
fn run_loop<S, T: MessageLoop<S>>(factors: &MessageFactors<'_>, message_loop: T) -> UpdateOutcome {
    match factors.n_labels {
        2 => dispatch(LoopKernel::<S, T, 2>(message_loop, PhantomData)),
        _ => dispatch(LoopKernel::<S, T, 0>(message_loop, PhantomData)),
    }
}

/// Updates all μ of a range of nodes; `mu` and `new_mu` are the slices of these nodes.
struct MuUpdates<'a, 'f> {
    factors: &'a MessageFactors<'f>,
    nodes: Range<usize>,
    lambda: &'a [f64],
    mu: &'a mut [f64],
    new_mu: &'a mut [f64],
}

impl<S: Semiring> MessageLoop<S> for MuUpdates<'_, '_> {
    #[inline(always)]
    fn run<const L: usize, const FMA: bool>(self) -> UpdateOutcome {
        let MuUpdates { factors, nodes, lambda, mu, new_mu } = self;
        let mut outcome = UpdateOutcome::NONE;
        let first = factors.shape.message_offset(nodes.start);
        for n in nodes {
            let own = factors.shape.message_offset(n) - first..factors.shape.message_offset(n + 1) - first;
            let (mu, new_mu) = (&mut mu[own.clone()], &mut new_mu[own]);
            outcome = outcome.and(update_mus::<S, L, FMA>(factors, n, lambda, mu, new_mu));
        }
        outcome
    }
}

/// Updates all λ of a range of nodes; `lambda` is the slice of these nodes.
struct LambdaUpdates<'a, 'f> {
    factors: &'a MessageFactors<'f>,
    nodes: Range<usize>,
    mu: &'a [f64],
    lambda: &'a mut [f64],
}

impl<S: Semiring> MessageLoop<S> for LambdaUpdates<'_, '_> {
    #[inline(always)]
    fn run<const L: usize, const FMA: bool>(self) -> UpdateOutcome {
        let LambdaUpdates { factors, nodes, mu, lambda } = self;
        let mut outcome = UpdateOutcome::NONE;
        let first = factors.shape.message_offset(nodes.start);
        for n in nodes {
            let own = factors.shape.message_offset(n)..factors.shape.message_offset(n + 1);
            let lambda = &mut lambda[own.start - first..own.end - first];
            outcome.is_safe &= update_lambdas::<S, L>(factors, n, &mu[own], lambda);
        }
        outcome
    }
}

/// One sweep of the sequential schedule: at each node in turn its μ, then its λ.
struct SequentialSweep<'a, 'f> {
    factors: &'a MessageFactors<'f>,
    buffers: &'a mut MessageBuffers,
    order: &'a [u32],
    backwards: bool,
}

impl<S: Semiring> MessageLoop<S> for SequentialSweep<'_, '_> {
    #[inline(always)]
    fn run<const L: usize, const FMA: bool>(self) -> UpdateOutcome {
        let SequentialSweep { factors, buffers, order, backwards } = self;
        let MessageBuffers { lambda, mu, new_mu, .. } = buffers;
        let mut outcome = UpdateOutcome::NONE;
        for i in 0..order.len() {
            let n = order[if backwards { order.len() - 1 - i } else { i }] as usize;
            let own = factors.shape.message_offset(n)..factors.shape.message_offset(n + 1);
            let (mu, new_mu) = (&mut mu[own.clone()], &mut new_mu[own.clone()]);
            outcome = outcome.and(update_mus::<S, L, FMA>(factors, n, lambda, mu, new_mu));
            outcome.is_safe &= update_lambdas::<S, L>(factors, n, mu, &mut lambda[own]);
        }
        outcome
    }
}

/// The residual schedule: the node with the largest pending change receives its new messages and
/// proposes new ones to its neighbours (Elidan et al. 2006).
struct ResidualLoop<'a, 'f> {
    factors: &'a MessageFactors<'f>,
    buffers: &'a mut MessageBuffers,
    order: &'a [u32],
    plan: Plan,
    convergence: &'a mut Convergence,
}

impl<S: Semiring> MessageLoop<S> for ResidualLoop<'_, '_> {
    #[inline(always)]
    fn run<const L: usize, const FMA: bool>(self) -> UpdateOutcome {
        let ResidualLoop { factors, buffers, order, plan, convergence } = self;
        let MessageBuffers { lambda, mu, new_mu, queue } = buffers;
        let shape = factors.shape;
        queue.reset(shape.n_nodes());
        let mut outcome = UpdateOutcome::NONE;
        for &n in order {
            outcome = outcome.and(propose::<S, L, FMA>(factors, n as usize, lambda, mu, new_mu, queue));
        }
        let max_visits = u64::from(plan.max_sweeps) * order.len() as u64;
        let mut n_visits = 0;
        let mut residual = 0.0_f64;
        convergence.stop = Stop::Converged;
        while let Some((n, priority)) = queue.take()
            && outcome.is_safe
            && outcome.is_possible
        {
            if priority <= plan.tolerance || n_visits == max_visits {
                residual = residual.max(priority);
                if priority > plan.tolerance {
                    residual = residual.max(queue.highest());
                    convergence.stop = Stop::Budget;
                    break;
                }
                continue;
            }
            n_visits += 1;
            let n_labels = card::<L>(factors, n as usize);
            let own = shape.message_offset(n as usize)..shape.message_offset(n as usize + 1);
            let proposed = &new_mu[own.clone()];
            let messages = mu[own.clone()].chunks_exact_mut(n_labels).zip(proposed.chunks_exact(n_labels));
            for (mu, new_mu) in messages {
                receive::<S>(factors, mu, new_mu);
            }
            if factors.damping > 0.0 {
                // The part of the change that damping held back is still pending.
                let pending = mu[own.clone()].iter().zip(proposed);
                let changes = pending.map(|(&mu, &new_mu)| S::relative_change(mu, new_mu));
                queue.raise(n, changes.fold(0.0, f64::max));
            }
            outcome.is_safe &=
                update_lambdas::<S, L>(factors, n as usize, &mu[own.clone()], &mut lambda[own]);
            outcome = outcome.and(propose::<S, L, FMA>(factors, n as usize, lambda, mu, new_mu, queue));
        }
        convergence.sweeps = n_visits.div_ceil(order.len().max(1) as u64) as u32;
        convergence.residual = residual;
        outcome
    }
}

/// Computes the messages from node `n` to all its neighbours, which may receive them later.
#[inline(always)]
fn propose<S: Semiring, const L: usize, const FMA: bool>(
    factors: &MessageFactors<'_>,
    n: usize,
    lambda: &[f64],
    mu: &[f64],
    new_mu: &mut [f64],
    queue: &mut ResidualQueue,
) -> UpdateOutcome {
    let shape = factors.shape;
    let n_labels = card::<L>(factors, n);
    let mut total = UpdateOutcome::NONE;
    let lambdas = lambda[shape.message_offset(n)..].chunks_exact(n_labels).take(shape.degree(n));
    for (k, lambda) in lambdas.enumerate() {
        let end = shape.incidence(n, k);
        let opposite = end.opposite..end.opposite + card::<L>(factors, end.other as usize);
        let (old, new) = (&mu[opposite.clone()], &mut new_mu[opposite]);
        let outcome = update_mu::<S, L, FMA>(factors, end.edge, !end.is_head, lambda, old, new);
        queue.raise(end.other, outcome.residual);
        total = total.and(outcome);
    }
    total
}
