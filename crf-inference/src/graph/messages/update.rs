//! Updates of single messages and of all messages at one node: the steps that every schedule is
//! made of.
//!
//! With ρ = 1 these are the messages of belief propagation (Pearl 1988); in general those of
//! Wainwright et al. (2005), eq. 39:
//!
//! ```text
//! λ_{n→k}(y_n) = ψ_n(y_n) Π_j μ_{j→n}(y_n)^ρ_{jn} / μ_{k→n}(y_n)
//! μ_{k→n}(y_n) ∝ Σ_{y_k} exp(A(y_k, y_n) / ρ_{kn}) λ_{k→n}(y_k)
//! ```
//!
//! Each μ is scaled to the maximum one; λ is not scaled. Nothing is divided: λ is the product of
//! all μ before and of all μ behind the omitted one, so that zeros are exact. Among probabilities a
//! product is trusted while no positive partial product is below 10⁻¹⁰⁰, which
//! [`UpdateOutcome::is_safe`] reports; otherwise it is computed again with logarithms.

use crate::graph::messages::factors::MessageFactors;
use crate::graph::messages::semiring::Semiring;

/// Outcome of the update of some messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UpdateOutcome {
    /// Largest relative change of an entry of a message, before damping.
    pub(crate) residual: f64,
    /// True if no number came near to underflow.
    pub(crate) is_safe: bool,
    /// True if every message allows some label.
    pub(crate) is_possible: bool,
}

impl UpdateOutcome {
    /// Outcome of no update.
    pub(crate) const NONE: UpdateOutcome = UpdateOutcome { residual: 0.0, is_safe: true, is_possible: true };

    /// Outcome of two updates together.
    #[inline(always)]
    pub(crate) fn and(self, other: UpdateOutcome) -> UpdateOutcome {
        UpdateOutcome {
            residual: if other.residual > self.residual { other.residual } else { self.residual },
            is_safe: self.is_safe & other.is_safe,
            is_possible: self.is_possible & other.is_possible,
        }
    }
}

/// Number of labels of node `n`; the constant `L` if all nodes have that many.
#[inline(always)]
pub(crate) fn card<const L: usize>(factors: &MessageFactors<'_>, n: usize) -> usize {
    if L > 0 { L } else { factors.shape.card(n) }
}

/// Computes all λ of node `n` from its μ, both `[degree × labels]`; true if that was safe.
#[inline(always)]
pub(crate) fn update_lambdas<S: Semiring, const L: usize>(
    factors: &MessageFactors<'_>,
    n: usize,
    mu: &[f64],
    lambda: &mut [f64],
) -> bool {
    match factors.is_reweighted() {
        false => update_lambdas_weighted::<S, L, false>(factors, n, mu, lambda),
        true => update_lambdas_weighted::<S, L, true>(factors, n, mu, lambda),
    }
}

/// [`update_lambdas`], compiled with (`RHO`) and without edge appearance probabilities.
#[inline(always)]
fn update_lambdas_weighted<S: Semiring, const L: usize, const RHO: bool>(
    factors: &MessageFactors<'_>,
    n: usize,
    mu: &[f64],
    lambda: &mut [f64],
) -> bool {
    let n_labels = card::<L>(factors, n);
    let degree = factors.shape.degree(n);
    let (mu, lambda) = (&mu[..degree * n_labels], &mut lambda[..degree * n_labels]);
    let psi = &factors.node(n)[..n_labels];
    let rho = |k: usize| factors.rho(factors.shape.incidence(n, k));
    let weighted = |k: usize, x: f64| if RHO { S::power(x, rho(k)) } else { x };
    let mut is_safe = true;
    for y in 0..n_labels {
        let mut before = psi[y]; // ψ_n Π_{j < k} μ_j^ρ_j
        for k in 0..degree {
            lambda[k * n_labels + y] = before;
            before = S::times(before, weighted(k, mu[k * n_labels + y]));
            is_safe &= S::is_safe(before);
        }
        let mut behind = S::ONE; // Π_{j > k} μ_j^ρ_j
        for k in (0..degree).rev() {
            let i = k * n_labels + y;
            let mut product = S::times(lambda[i], behind);
            if RHO {
                product = S::times(product, S::power(mu[i], rho(k) - 1.0));
            }
            lambda[i] = product;
            behind = S::times(behind, weighted(k, mu[i]));
            is_safe &= S::is_safe(product) & S::is_safe(behind);
        }
    }
    is_safe
}

/// Computes one μ from the λ of its sender, scaled to the maximum one, and its change from `old`.
#[inline(always)]
pub(crate) fn update_mu<S: Semiring, const L: usize, const FMA: bool>(
    factors: &MessageFactors<'_>,
    edge: u32,
    to_head: bool,
    lambda: &[f64],
    old: &[f64],
    new: &mut [f64],
) -> UpdateOutcome {
    let (n_labels, n_sender_labels) = if L > 0 { (L, L) } else { (new.len(), lambda.len()) };
    let lambda = &lambda[..n_sender_labels];
    let (old, new) = (&old[..n_labels], &mut new[..n_labels]);
    let table = factors.table(edge, n_labels * n_sender_labels);
    if to_head {
        new.fill(S::ZERO);
        for x in 0..n_sender_labels {
            let row = &table[x * n_labels..(x + 1) * n_labels];
            for y in 0..n_labels {
                new[y] = S::plus_times::<FMA>(new[y], lambda[x], row[y]);
            }
        }
    } else {
        for y in 0..n_labels {
            new[y] = dot::<S, L, FMA>(&table[y * n_sender_labels..(y + 1) * n_sender_labels], lambda);
        }
    }
    let mut max = S::ZERO;
    for y in 0..n_labels {
        max = if new[y] > max { new[y] } else { max };
    }
    if max == S::ZERO {
        return UpdateOutcome { is_possible: false, ..UpdateOutcome::NONE };
    }
    let inverse = S::inverse(max);
    let mut outcome = UpdateOutcome::NONE;
    for y in 0..n_labels {
        new[y] = S::times(new[y], inverse);
        let change = S::relative_change(old[y], new[y]);
        outcome.residual = if change > outcome.residual { change } else { outcome.residual };
        outcome.is_safe &= S::is_safe(new[y]);
    }
    outcome
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

/// Replaces a message by the damped new one, scaled to the maximum one again.
#[inline(always)]
pub(crate) fn receive<S: Semiring>(factors: &MessageFactors<'_>, mu: &mut [f64], new: &[f64]) {
    if factors.damping == 0.0 {
        mu.copy_from_slice(new);
        return;
    }
    let mut max = S::ZERO;
    for (mu, &new) in mu.iter_mut().zip(new) {
        *mu = S::blend(*mu, new, factors.damping);
        max = if *mu > max { *mu } else { max };
    }
    let inverse = S::inverse(max);
    mu.iter_mut().for_each(|mu| *mu = S::times(*mu, inverse));
}

/// Updates all μ of node `n`. `mu` and `new` are those of the node, `[degree × labels]`; `lambda`
/// is that of all nodes.
#[inline(always)]
pub(crate) fn update_mus<S: Semiring, const L: usize, const FMA: bool>(
    factors: &MessageFactors<'_>,
    n: usize,
    lambda: &[f64],
    mu: &mut [f64],
    new: &mut [f64],
) -> UpdateOutcome {
    let n_labels = card::<L>(factors, n);
    let mut outcome = UpdateOutcome::NONE;
    for k in 0..factors.shape.degree(n) {
        let end = factors.shape.incidence(n, k);
        let own = k * n_labels..(k + 1) * n_labels;
        let lambda = &lambda[end.opposite..][..card::<L>(factors, end.other as usize)];
        let (mu, new) = (&mut mu[own.clone()], &mut new[own]);
        outcome = outcome.and(update_mu::<S, L, FMA>(factors, end.edge, end.is_head, lambda, mu, new));
        receive::<S>(factors, mu, new);
    }
    outcome
}
