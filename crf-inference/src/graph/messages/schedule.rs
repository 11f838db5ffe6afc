use std::marker::PhantomData;
use std::ops::Range;

use crf_core::simd::{Kernel, dispatch};
use crf_core::{Convergence, Potentials, Result, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::impossible;
use crate::graph::messages::factors::MessageFactors;
use crate::graph::messages::residual_queue::Queue;
use crate::graph::messages::semiring::Semiring;
use crate::graph::messages::traversal::Order;
use crate::graph::messages::update::{Tally, arrive, card, leave, receive, take};

/// In which order messages are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MessageSchedule {
    /// Node after node, there and back in turn, each with the newest messages.
    #[default]
    Sequential,
    /// All at once from those of the sweep before, on all cores where the graph is large.
    Parallel,
    /// Always to a node that has a change to receive of the largest order of magnitude (Elidan et al. 2006).
    Residual,
}

/// How long to pass messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) schedule: MessageSchedule,
    pub(crate) tolerance: f64,
    pub(crate) max_sweeps: u32,
}

/// The messages of one instance, each array laid out by `Shape::message_offset`.
#[derive(Debug, Default)]
pub(crate) struct MessageBuffers {
    pub(crate) lambda: Vec<f64>,
    pub(crate) mu: Vec<f64>,
    new: Vec<f64>,
    queue: Queue,
}

/// Fewer nodes than this are not worth another thread.
const NODES_PER_TASK: usize = 4096;

impl MessageBuffers {
    /// Uniform messages.
    pub(crate) fn reset<S: Semiring>(&mut self, net: &MessageFactors<'_>) {
        let size = net.shape.message_offset(net.shape.n_nodes());
        for messages in [&mut self.lambda, &mut self.mu, &mut self.new] {
            messages.clear();
            messages.resize(size, S::ONE);
        }
    }

    /// Passes messages until they hardly change; `None` when only the log domain is safe.
    ///
    /// A forest needs two sweeps, from the leaves and back to them, whatever the schedule is.
    pub(crate) fn pass<S: Semiring>(
        &mut self,
        p: &Potentials<'_>,
        net: &MessageFactors<'_>,
        order: &Order,
        plan: Plan,
    ) -> Result<Option<Convergence>> {
        let (order, is_forest) = (order.nodes(), order.is_forest());
        self.leave_all::<S>(net);
        if is_forest {
            let net = &net.undamped();
            let up = run::<S, _>(net, Sweep { net, mail: self, order, backwards: true });
            let down = run::<S, _>(net, Sweep { net, mail: self, order, backwards: false });
            let convergence = Convergence { stop: Stop::Direct, sweeps: 2, residual: 0.0 };
            return finish(p, up.and(down), convergence);
        }
        let mut convergence = Convergence { stop: Stop::Budget, sweeps: 0, residual: f64::INFINITY };
        if plan.schedule == MessageSchedule::Residual {
            let steps = ByResidual { net, mail: self, order, plan, convergence: &mut convergence };
            let tally = run::<S, _>(net, steps);
            return finish(p, tally, convergence);
        }
        let mut all = Tally::NONE;
        while convergence.sweeps < plan.max_sweeps && all.safe && all.possible {
            let tally = match plan.schedule {
                MessageSchedule::Parallel => self.receive_all::<S>(net).and(self.leave_all::<S>(net)),
                _ => {
                    let backwards = convergence.sweeps.is_multiple_of(2);
                    run::<S, _>(net, Sweep { net, mail: self, order, backwards })
                }
            };
            convergence.sweeps += 1;
            convergence.residual = tally.residual;
            all = all.and(tally);
            if tally.residual <= plan.tolerance {
                convergence.stop = Stop::Converged;
                break;
            }
        }
        finish(p, all, convergence)
    }

    /// All λ from the present μ, then all μ from these, `sweeps` times; `None` when only the log domain is safe.
    pub(crate) fn pass_few<S: Semiring>(
        &mut self,
        p: &Potentials<'_>,
        net: &MessageFactors<'_>,
        sweeps: u32,
        tolerance: f64,
    ) -> Result<Option<Convergence>> {
        let (mut all, mut residual) = (Tally::NONE, 0.0);
        for _ in 0..sweeps {
            let tally = self.leave_all::<S>(net).and(self.receive_all::<S>(net));
            residual = tally.residual;
            all = all.and(tally);
        }
        let stop = if residual <= tolerance { Stop::Converged } else { Stop::Budget };
        finish(p, all, Convergence { stop, sweeps, residual })
    }

    fn receive_all<S: Semiring>(&mut self, net: &MessageFactors<'_>) -> Tally {
        let MessageBuffers { lambda, mu, new, .. } = self;
        fork(net, 0..net.shape.n_nodes(), mu, new, &|nodes, mu, new| {
            run::<S, _>(net, Receive { net, nodes, lambda, mu, new })
        })
    }

    fn leave_all<S: Semiring>(&mut self, net: &MessageFactors<'_>) -> Tally {
        let MessageBuffers { lambda, mu, new, .. } = self;
        fork(net, 0..net.shape.n_nodes(), lambda, new, &|nodes, lambda, _| {
            run::<S, _>(net, Leave { net, nodes, mu, lambda })
        })
    }
}

fn finish(p: &Potentials<'_>, tally: Tally, convergence: Convergence) -> Result<Option<Convergence>> {
    match (tally.safe, tally.possible) {
        (false, _) => Ok(None),
        (true, false) => Err(impossible(p)),
        (true, true) => Ok(Some(convergence)),
    }
}

/// Does some nodes' share of a step, in halves on several threads while there are many of them.
///
/// The two arrays are cut between nodes; every message is made from others that do not change meanwhile, so that
/// neither the cuts nor the threads can be seen in the result.
fn fork(
    net: &MessageFactors<'_>,
    nodes: Range<usize>,
    a: &mut [f64],
    b: &mut [f64],
    work: &(impl Fn(Range<usize>, &mut [f64], &mut [f64]) -> Tally + Sync),
) -> Tally {
    if nodes.len() <= NODES_PER_TASK {
        return work(nodes, a, b);
    }
    let middle = nodes.start + nodes.len() / 2;
    let cut = net.shape.message_offset(middle) - net.shape.message_offset(nodes.start);
    let ((a, more_a), (b, more_b)) = (a.split_at_mut(cut), b.split_at_mut(cut));
    let (first, second) = rayon::join(
        || fork(net, nodes.start..middle, a, b, work),
        || fork(net, middle..nodes.end, more_a, more_b, work),
    );
    first.and(second)
}

/// A loop over messages, compiled for two labels everywhere and for any numbers of them.
trait Steps<S> {
    fn run<const L: usize, const FMA: bool>(self) -> Tally;
}

struct With<S, T, const L: usize>(T, PhantomData<S>);

impl<S, T: Steps<S>, const L: usize> Kernel for With<S, T, L> {
    type Output = Tally;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Tally {
        self.0.run::<L, FMA>()
    }
}

fn run<S, T: Steps<S>>(net: &MessageFactors<'_>, steps: T) -> Tally {
    match net.labels {
        2 => dispatch(With::<S, T, 2>(steps, PhantomData)),
        _ => dispatch(With::<S, T, 0>(steps, PhantomData)),
    }
}

/// All μ at some nodes; `mu` and `new` are theirs alone.
struct Receive<'a, 'n> {
    net: &'a MessageFactors<'n>,
    nodes: Range<usize>,
    lambda: &'a [f64],
    mu: &'a mut [f64],
    new: &'a mut [f64],
}

impl<S: Semiring> Steps<S> for Receive<'_, '_> {
    #[inline(always)]
    fn run<const L: usize, const FMA: bool>(self) -> Tally {
        let Receive { net, nodes, lambda, mu, new } = self;
        let (mut tally, first) = (Tally::NONE, net.shape.message_offset(nodes.start));
        for n in nodes {
            let own = net.shape.message_offset(n) - first..net.shape.message_offset(n + 1) - first;
            tally = tally.and(receive::<S, L, FMA>(net, n, lambda, &mut mu[own.clone()], &mut new[own]));
        }
        tally
    }
}

/// All λ at some nodes; `lambda` is theirs alone.
struct Leave<'a, 'n> {
    net: &'a MessageFactors<'n>,
    nodes: Range<usize>,
    mu: &'a [f64],
    lambda: &'a mut [f64],
}

impl<S: Semiring> Steps<S> for Leave<'_, '_> {
    #[inline(always)]
    fn run<const L: usize, const FMA: bool>(self) -> Tally {
        let Leave { net, nodes, mu, lambda } = self;
        let (mut tally, first) = (Tally::NONE, net.shape.message_offset(nodes.start));
        for n in nodes {
            let own = net.shape.message_offset(n)..net.shape.message_offset(n + 1);
            tally.safe &=
                leave::<S, L>(net, n, &mu[own.clone()], &mut lambda[own.start - first..own.end - first]);
        }
        tally
    }
}

/// Node after node: its μ, then its λ.
struct Sweep<'a, 'n> {
    net: &'a MessageFactors<'n>,
    mail: &'a mut MessageBuffers,
    order: &'a [u32],
    backwards: bool,
}

impl<S: Semiring> Steps<S> for Sweep<'_, '_> {
    #[inline(always)]
    fn run<const L: usize, const FMA: bool>(self) -> Tally {
        let Sweep { net, mail, order, backwards } = self;
        let MessageBuffers { lambda, mu, new, .. } = mail;
        let mut tally = Tally::NONE;
        for i in 0..order.len() {
            let n = order[if backwards { order.len() - 1 - i } else { i }] as usize;
            let own = net.shape.message_offset(n)..net.shape.message_offset(n + 1);
            let (mu, new) = (&mut mu[own.clone()], &mut new[own.clone()]);
            tally = tally.and(receive::<S, L, FMA>(net, n, lambda, mu, new));
            tally.safe &= leave::<S, L>(net, n, mu, &mut lambda[own]);
        }
        tally
    }
}

/// The node with the largest change to receive takes its new messages over and makes those of its neighbours.
struct ByResidual<'a, 'n> {
    net: &'a MessageFactors<'n>,
    mail: &'a mut MessageBuffers,
    order: &'a [u32],
    plan: Plan,
    convergence: &'a mut Convergence,
}

impl<S: Semiring> Steps<S> for ByResidual<'_, '_> {
    #[inline(always)]
    fn run<const L: usize, const FMA: bool>(self) -> Tally {
        let ByResidual { net, mail, order, plan, convergence } = self;
        let MessageBuffers { lambda, mu, new, queue } = mail;
        let shape = net.shape;
        queue.reset(shape.n_nodes());
        let mut tally = Tally::NONE;
        for &n in order {
            tally = tally.and(send::<S, L, FMA>(net, n as usize, lambda, mu, new, queue));
        }
        let budget = u64::from(plan.max_sweeps) * order.len() as u64;
        let (mut visits, mut left) = (0, 0.0_f64);
        convergence.stop = Stop::Converged;
        while let Some((n, priority)) = queue.take()
            && tally.safe
            && tally.possible
        {
            if priority <= plan.tolerance || visits == budget {
                left = left.max(priority);
                if priority > plan.tolerance {
                    left = left.max(queue.highest());
                    convergence.stop = Stop::Budget;
                    break;
                }
                continue;
            }
            visits += 1;
            let (own, labels) = (
                shape.message_offset(n as usize)..shape.message_offset(n as usize + 1),
                card::<L>(net, n as usize),
            );
            let received = &new[own.clone()];
            for (mu, new) in mu[own.clone()].chunks_exact_mut(labels).zip(received.chunks_exact(labels)) {
                take::<S>(net, mu, new);
            }
            if net.damping > 0.0 {
                // What damping held back is still to be received.
                let held = mu[own.clone()].iter().zip(received).map(|(&mu, &new)| S::change(mu, new));
                queue.raise(n, held.fold(0.0, f64::max));
            }
            tally.safe &= leave::<S, L>(net, n as usize, &mu[own.clone()], &mut lambda[own]);
            tally = tally.and(send::<S, L, FMA>(net, n as usize, lambda, mu, new, queue));
        }
        convergence.sweeps = visits.div_ceil(order.len().max(1) as u64) as u32;
        convergence.residual = left;
        tally
    }
}

/// Makes the messages from node `n` to all its neighbours, which may take them over later.
#[inline(always)]
fn send<S: Semiring, const L: usize, const FMA: bool>(
    net: &MessageFactors<'_>,
    n: usize,
    lambda: &[f64],
    mu: &[f64],
    new: &mut [f64],
    queue: &mut Queue,
) -> Tally {
    let labels = card::<L>(net, n);
    let mut all = Tally::NONE;
    for (k, lambda) in
        lambda[net.shape.message_offset(n)..].chunks_exact(labels).take(net.shape.degree(n)).enumerate()
    {
        let end = net.shape.incidence(n, k);
        let there = end.opposite..end.opposite + card::<L>(net, end.other as usize);
        let (old, new) = (&mu[there.clone()], &mut new[there]);
        let tally = arrive::<S, L, FMA>(net, end.edge, !end.is_head, lambda, old, new);
        queue.raise(end.other, tally.residual);
        all = all.and(tally);
    }
    all
}
