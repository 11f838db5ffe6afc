use crf_core::Rng;
use rand::RngExt as _;

/// Draws k with a probability proportional to exp(scores[k]); the scores are lost.
pub(crate) fn draw(scores: &mut [f64], rng: &mut Rng) -> usize {
    // Shifted, the largest is 1: no score is too large.
    let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter_mut().for_each(|score| *score = (*score - max).exp());
    let mut left = rng.random::<f64>() * scores.iter().sum::<f64>();
    let last = scores.len() - 1;
    let chosen = scores[..last].iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    chosen.unwrap_or(last)
}
