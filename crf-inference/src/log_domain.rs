//! Sums of numbers that are kept as logarithms, and draws from them.

use crf_core::{Label, Rng};
use rand::RngExt as _;

/// log Σ exp(x), and −∞ when every x is.
pub(crate) fn log_sum_exp(scores: impl Iterator<Item = f64> + Clone) -> f64 {
    let max = scores.clone().fold(f64::NEG_INFINITY, f64::max);
    // All-forbidden rows are −∞; −∞ − (−∞) would be NaN.
    if max == f64::NEG_INFINITY {
        return max;
    }
    max + scores.map(|score| (score - max).exp()).sum::<f64>().ln()
}

/// log(exp a + exp b).
#[inline]
pub(crate) fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    // Also when both are −∞: their difference would be NaN.
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// Draws a label with probability exp(score − total).
pub(crate) fn draw(scores: &[f64], total: f64, rng: &mut Rng) -> Label {
    let mut left = rng.random::<f64>();
    let mut last = 0;
    for (y, score) in scores.iter().enumerate().filter(|(_, score)| **score > f64::NEG_INFINITY) {
        last = y;
        left -= (score - total).exp();
        if left < 0.0 {
            break;
        }
    }
    // Rounding can leave a little over: it belongs to the last label that is possible.
    last as Label
}
