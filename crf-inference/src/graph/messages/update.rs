//! One message, all messages at one node: what every schedule is made of.
//!
//! With ρ = 1 these are the messages of belief propagation (Pearl 1988); in general those of Wainwright et al. (2005), eq. 39:
//!
//! ```text
//! λ_{n→k}(y_n) = ψ_n(y_n) Π_j μ_{j→n}(y_n)^ρ_{jn} / μ_{k→n}(y_n)       μ_{k→n}(y_n) ∝ Σ_{y_k} exp(A(y_k, y_n) / ρ_{kn}) λ_{k→n}(y_k)
//! ```
//!
//! Each μ is scaled to have the maximum one; λ is not scaled. Nothing is divided: λ is made of the products of all μ before
//! and of all μ behind the one that is left out, so that zeros are exact. Among probabilities a product is trusted while no
//! positive partial product is below 10⁻¹⁰⁰, which is what [`Tally::safe`] reports; what fails is done again among logarithms.

use crate::graph::messages::factors::MessageFactors;
use crate::graph::messages::semiring::Semiring;

/// What became of some messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tally {
    /// The largest relative change of an entry of a message, before damping.
    pub(crate) residual: f64,
    /// Whether nothing came near to underflow.
    pub(crate) safe: bool,
    /// Whether every message allows some label.
    pub(crate) possible: bool,
}

impl Tally {
    pub(crate) const NONE: Tally = Tally { residual: 0.0, safe: true, possible: true };

    #[inline(always)]
    pub(crate) fn and(self, other: Tally) -> Tally {
        Tally {
            residual: if other.residual > self.residual { other.residual } else { self.residual },
            safe: self.safe & other.safe,
            possible: self.possible & other.possible,
        }
    }
}

/// The labels of node `n`: `L` when all nodes have that many.
#[inline(always)]
pub(crate) fn card<const L: usize>(net: &MessageFactors<'_>, n: usize) -> usize {
    if L > 0 { L } else { net.shape.card(n) }
}

/// Makes the λ of node `n` from its μ; whether that was safe. `[degree × labels]` both
#[inline(always)]
pub(crate) fn leave<S: Semiring, const L: usize>(
    net: &MessageFactors<'_>,
    n: usize,
    mu: &[f64],
    lambda: &mut [f64],
) -> bool {
    match net.is_reweighted() {
        false => leave_weighted::<S, L, false>(net, n, mu, lambda),
        true => leave_weighted::<S, L, true>(net, n, mu, lambda),
    }
}

#[inline(always)]
fn leave_weighted<S: Semiring, const L: usize, const RHO: bool>(
    net: &MessageFactors<'_>,
    n: usize,
    mu: &[f64],
    lambda: &mut [f64],
) -> bool {
    let (labels, degree) = (card::<L>(net, n), net.shape.degree(n));
    let (mu, lambda) = (&mu[..degree * labels], &mut lambda[..degree * labels]);
    let psi = &net.node(n)[..labels];
    let rho = |k: usize| net.rho(net.shape.incidence(n, k));
    let factor = |k: usize, x: f64| if RHO { S::power(x, rho(k)) } else { x };
    let mut safe = true;
    for y in 0..labels {
        let mut before = psi[y];
        for k in 0..degree {
            lambda[k * labels + y] = before;
            before = S::times(before, factor(k, mu[k * labels + y]));
            safe &= S::is_safe(before);
        }
        let mut behind = S::ONE;
        for k in (0..degree).rev() {
            let at = k * labels + y;
            let mut product = S::times(lambda[at], behind);
            if RHO {
                product = S::times(product, S::power(mu[at], rho(k) - 1.0));
            }
            lambda[at] = product;
            behind = S::times(behind, factor(k, mu[at]));
            safe &= S::is_safe(product) & S::is_safe(behind);
        }
    }
    safe
}

/// Makes a μ from the λ it comes from, scaled to the maximum one; its change from `old`.
#[inline(always)]
pub(crate) fn arrive<S: Semiring, const L: usize, const FMA: bool>(
    net: &MessageFactors<'_>,
    edge: u32,
    to_head: bool,
    lambda: &[f64],
    old: &[f64],
    new: &mut [f64],
) -> Tally {
    let (labels, others) = if L > 0 { (L, L) } else { (new.len(), lambda.len()) };
    let (lambda, old, new) = (&lambda[..others], &old[..labels], &mut new[..labels]);
    let table = net.table(edge, labels * others);
    if to_head {
        new.fill(S::ZERO);
        for x in 0..others {
            let row = &table[x * labels..(x + 1) * labels];
            for y in 0..labels {
                new[y] = S::plus_times::<FMA>(new[y], lambda[x], row[y]);
            }
        }
    } else {
        for y in 0..labels {
            new[y] = dot::<S, L, FMA>(&table[y * others..(y + 1) * others], lambda);
        }
    }
    let mut max = S::ZERO;
    for y in 0..labels {
        max = if new[y] > max { new[y] } else { max };
    }
    if max == S::ZERO {
        return Tally { possible: false, ..Tally::NONE };
    }
    let inverse = S::inverse(max);
    let mut tally = Tally::NONE;
    for y in 0..labels {
        new[y] = S::times(new[y], inverse);
        let change = S::change(old[y], new[y]);
        tally.residual = if change > tally.residual { change } else { tally.residual };
        tally.safe &= S::is_safe(new[y]);
    }
    tally
}

/// ⊕_x row(x) ⊗ λ(x), in eight sums side by side unless `L` is known.
#[inline(always)]
fn dot<S: Semiring, const L: usize, const FMA: bool>(row: &[f64], lambda: &[f64]) -> f64 {
    let mut total = S::ZERO;
    let (rows, row) = if L > 0 { (&[][..], row) } else { row.as_chunks::<8>() };
    let (lambdas, lambda) = if L > 0 { (&[][..], lambda) } else { lambda.as_chunks::<8>() };
    if !rows.is_empty() {
        let mut sums = [S::ZERO; 8];
        for (row, lambda) in rows.iter().zip(lambdas) {
            for j in 0..8 {
                sums[j] = S::plus_times::<FMA>(sums[j], row[j], lambda[j]);
            }
        }
        for sum in sums {
            total = S::plus_times::<FMA>(total, sum, S::ONE);
        }
    }
    for x in 0..row.len() {
        total = S::plus_times::<FMA>(total, row[x], lambda[x]);
    }
    total
}

/// Takes a new message over, damped; its maximum is one again.
#[inline(always)]
pub(crate) fn take<S: Semiring>(net: &MessageFactors<'_>, mu: &mut [f64], new: &[f64]) {
    if net.damping == 0.0 {
        mu.copy_from_slice(new);
        return;
    }
    let mut max = S::ZERO;
    for (mu, &new) in mu.iter_mut().zip(new) {
        *mu = S::blend(*mu, new, net.damping);
        max = if *mu > max { *mu } else { max };
    }
    let inverse = S::inverse(max);
    mu.iter_mut().for_each(|mu| *mu = S::times(*mu, inverse));
}

/// Makes all μ of node `n` anew. `mu` and `new` are its own `[degree × labels]`, `lambda` that of all nodes.
#[inline(always)]
pub(crate) fn receive<S: Semiring, const L: usize, const FMA: bool>(
    net: &MessageFactors<'_>,
    n: usize,
    lambda: &[f64],
    mu: &mut [f64],
    new: &mut [f64],
) -> Tally {
    let labels = card::<L>(net, n);
    let mut tally = Tally::NONE;
    for k in 0..net.shape.degree(n) {
        let end = net.shape.incidence(n, k);
        let lambda = &lambda[end.opposite..][..card::<L>(net, end.other as usize)];
        let (mu, new) = (&mut mu[k * labels..(k + 1) * labels], &mut new[k * labels..(k + 1) * labels]);
        tally = tally.and(arrive::<S, L, FMA>(net, end.edge, end.is_head, lambda, mu, new));
        take::<S>(net, mu, new);
    }
    tally
}
