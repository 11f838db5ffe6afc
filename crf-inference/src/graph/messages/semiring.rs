use crf_core::simd::fma;

use crate::log_domain::log_add;

/// How numbers are combined along and across messages.
///
/// Numbers are never negative (or are logarithms of such), so that zero is the neutral element of sums and of maxima.
pub(crate) trait Semiring: Copy + Send + Sync {
    /// Whether numbers are logarithms.
    const LOG: bool;
    /// The number of something impossible.
    const ZERO: f64;
    /// The number that changes no product.
    const ONE: f64;
    /// `a ⊗ b`.
    fn times(a: f64, b: f64) -> f64;
    /// `sum ⊕ a ⊗ b`.
    fn plus_times<const FMA: bool>(sum: f64, a: f64, b: f64) -> f64;
    /// The sum of two numbers, also where ⊕ is the maximum.
    fn add(a: f64, b: f64) -> f64;
    /// `a` to the power of `exponent`; zero stays zero.
    fn power(a: f64, exponent: f64) -> f64;
    /// `(1 − damping) · new + damping · old`; what has become impossible stays so.
    fn blend(old: f64, new: f64, damping: f64) -> f64;
    /// What a number is to be multiplied with so that `max` becomes one.
    fn inverse(max: f64) -> f64;
    /// How much a number changed, relative to the larger one; NaN from zero to zero.
    fn change(old: f64, new: f64) -> f64;
    /// Whether another factor can be multiplied on without underflow.
    fn is_safe(x: f64) -> bool;
    /// The logarithm.
    fn log(x: f64) -> f64;
    /// The share of `x` in a sum.
    fn share(x: f64, total: f64) -> f64;
}

/// Sums or maxima of products, of numbers or of their logarithms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Products<const MAX: bool, const LOG: bool>;

/// The product of two positive numbers that are at least this, and of an entry of a table, does not underflow.
const SMALLEST: f64 = 1e-100;

impl<const MAX: bool, const LOG: bool> Semiring for Products<MAX, LOG> {
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
    fn change(old: f64, new: f64) -> f64 {
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
