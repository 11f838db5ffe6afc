use crf_core::simd::fma;

use crate::log_domain::log_add;

/// Semiring of messages: ⊗ combines numbers along a path, ⊕ combines paths.
///
/// Numbers are never negative (or are logarithms of such numbers), so that zero is the neutral
/// element of sums and of maxima.
pub(crate) trait Semiring: Copy + Send + Sync {
    /// True if numbers are logarithms.
    const LOG: bool;
    /// Neutral element of ⊕: the number of something impossible.
    const ZERO: f64;
    /// Neutral element of ⊗.
    const ONE: f64;
    /// `a ⊗ b`.
    fn times(a: f64, b: f64) -> f64;
    /// `sum ⊕ a ⊗ b`.
    fn plus_times<const FMA: bool>(sum: f64, a: f64, b: f64) -> f64;
    /// Sum of two numbers, also if ⊕ is the maximum.
    fn add(a: f64, b: f64) -> f64;
    /// `a` to the power of `exponent`; ZERO stays ZERO.
    fn power(a: f64, exponent: f64) -> f64;
    /// `(1 − damping) · new + damping · old`; ZERO if `new` is.
    fn blend(old: f64, new: f64, damping: f64) -> f64;
    /// Multiplicative inverse, by which `max` becomes ONE.
    fn inverse(max: f64) -> f64;
    /// Change relative to the larger number; NaN if both are ZERO.
    fn relative_change(old: f64, new: f64) -> f64;
    /// True if the product with another factor cannot underflow.
    fn is_safe(x: f64) -> bool;
    /// Logarithm of the number.
    fn log(x: f64) -> f64;
    /// Fraction x / total, never as a logarithm.
    fn share(x: f64, total: f64) -> f64;

    /// Normalises numbers to probabilities and returns their sum; ZERO if all are impossible, which
    /// become 0.
    fn normalise(row: &mut [f64]) -> f64 {
        let total = row.iter().fold(Self::ZERO, |total, &x| Self::add(total, x));
        if total == Self::ZERO {
            row.fill(0.0);
            return total;
        }
        row.iter_mut().for_each(|x| *x = Self::share(*x, total));
        // On a graph whose messages never converge, logarithms can grow until their rounding errors
        // exceed one.
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|x| *x /= sum);
        total
    }
}

/// The four semirings: sums or maxima (`MAX`) of products, of numbers or of their logarithms
/// (`LOG`).
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProductSemiring<const MAX: bool, const LOG: bool>;

/// Smallest safe number: the product of two such numbers and of an entry of a table does not
/// underflow.
const SMALLEST: f64 = 1e-100;

impl<const MAX: bool, const LOG: bool> Semiring for ProductSemiring<MAX, LOG> {
    const LOG: bool = LOG;
    const ZERO: f64 = if LOG { f64::NEG_INFINITY } else { 0.0 };
    const ONE: f64 = if LOG { 0.0 } else { 1.0 };

    #[inline(always)]
    fn times(a: f64, b: f64) -> f64 {
        if LOG { a + b } else { a * b }
    }

    #[inline(always)]
    fn plus_times<const FMA: bool>(sum: f64, a: f64, b: f64) -> f64 {
        if MAX {
            let product = Self::times(a, b);
            if product > sum { product } else { sum }
        } else if LOG {
            log_add(sum, a + b)
        } else {
            fma::<FMA>(a, b, sum)
        }
    }

    #[inline(always)]
    fn add(a: f64, b: f64) -> f64 {
        if LOG { log_add(a, b) } else { a + b }
    }

    #[inline(always)]
    fn power(a: f64, exponent: f64) -> f64 {
        match (a == Self::ZERO, LOG) {
            (true, _) => a,
            (false, true) => a * exponent,
            (false, false) => a.powf(exponent),
        }
    }

    #[inline(always)]
    fn blend(old: f64, new: f64, damping: f64) -> f64 {
        match (new == Self::ZERO, LOG) {
            (true, _) => new,
            (false, true) => log_add(new + (-damping).ln_1p(), old + damping.ln()),
            (false, false) => (1.0 - damping) * new + damping * old,
        }
    }

    #[inline(always)]
    fn inverse(max: f64) -> f64 {
        if LOG { -max } else { 1.0 / max }
    }

    #[inline(always)]
    fn relative_change(old: f64, new: f64) -> f64 {
        let gap = (new - old).abs();
        if LOG { -(-gap).exp_m1() } else { gap / if new > old { new } else { old } }
    }

    #[inline(always)]
    fn is_safe(x: f64) -> bool {
        LOG || (x >= SMALLEST) | (x == 0.0)
    }

    #[inline(always)]
    fn log(x: f64) -> f64 {
        if LOG { x } else { x.ln() }
    }

    #[inline(always)]
    fn share(x: f64, total: f64) -> f64 {
        if LOG { (x - total).exp() } else { x / total }
    }
}
