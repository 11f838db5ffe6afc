//! Arithmetic on logarithms: sums of exponentials, and draws from distributions given as log
//! scores.

use crf_core::{Label, Rng};
use rand::RngExt as _;

/// log Σ exp(x); −∞ if every x is −∞.
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
    // This includes the case that both are −∞, where their difference would be NaN.
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// Draws a label with probability exp(score − total).
pub(crate) fn draw(scores: &[f64], total: f64, rng: &mut Rng) -> Label {
    let mut remaining = rng.random::<f64>();
    let mut last_possible = 0;
    for (y, score) in scores.iter().enumerate().filter(|(_, score)| **score > f64::NEG_INFINITY) {
        last_possible = y;
        remaining -= (score - total).exp();
        if remaining < 0.0 {
            break;
        }
    }
    // Rounding can leave a remainder: it belongs to the last possible label.
    last_possible as Label
}
