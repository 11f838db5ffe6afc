//! Arithmetic on logarithms: sums of exponentials, distributions given as log scores, and sums that
//! keep what rounding loses.

use crf_core::{Label, Rng};
use rand::RngExt as _;

/// log Σ exp(x); −∞ if every x is −∞.
pub(crate) fn log_sum_exp(scores: impl Iterator<Item = f64> + Clone) -> f64 {
    let max = maximum(scores.clone());
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

/// Largest of some scores; −∞ if there is none.
pub(crate) fn maximum(scores: impl Iterator<Item = f64>) -> f64 {
    scores.fold(f64::NEG_INFINITY, |max, score| if score > max { score } else { max })
}

/// Subtracts the largest score from all of them and returns it; rows of −∞ stay as they are.
pub(crate) fn lower(scores: &mut [f64]) -> f64 {
    let max = maximum(scores.iter().copied());
    if max > f64::NEG_INFINITY {
        scores.iter_mut().for_each(|score| *score -= max);
    }
    max
}

/// Replaces log scores by their probabilities and returns log Σ exp(score).
///
/// The probabilities are divided by their sum, so they sum to one however large the scores are.
/// Where every score is −∞, so is the result, and the scores become 0.
pub(crate) fn normalise(scores: &mut [f64]) -> f64 {
    let max = lower(scores);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = score.exp();
        sum += *score;
    }
    if sum > 0.0 {
        scores.iter_mut().for_each(|score| *score /= sum);
    }
    max + sum.ln()
}

/// Draws a label from a distribution.
pub(crate) fn draw(probabilities: &[f64], rng: &mut Rng) -> Label {
    let mut remaining = rng.random::<f64>();
    let mut last_possible = 0;
    for (y, probability) in probabilities.iter().enumerate().filter(|(_, p)| **p > 0.0) {
        last_possible = y;
        remaining -= probability;
        if remaining < 0.0 {
            break;
        }
    }
    // Rounding can leave a remainder: it belongs to the last possible label.
    last_possible as Label
}

/// Label of the largest score, the first of equal ones.
pub(crate) fn best_label(scores: &[f64]) -> Label {
    (1..scores.len()).fold(0, |best, y| if scores[y] > scores[best] { y } else { best }) as Label
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_sum_to_one_however_large_the_scores() {
        for height in [0.0, 1e9, -1e17, 1e300] {
            let mut scores = [height, height, f64::NEG_INFINITY];
            assert_eq!(normalise(&mut scores), height + 2_f64.ln());
            assert_eq!(scores, [0.5, 0.5, 0.0]);
        }
        let mut none = [f64::NEG_INFINITY; 2];
        assert_eq!((normalise(&mut none), none), (f64::NEG_INFINITY, [0.0; 2]));
    }
}
