use crf_core::{Alphabet, Error, Label, Result, Rng, Value};
use rand::RngExt as _;
use rand_distr::{Bernoulli, Distribution as _, Normal};

use crate::labels::numbered;

/// Labels of the binary sources: `0` and `1`.
pub(crate) fn binary_labels() -> Alphabet {
    numbered(2)
}

/// Bernoulli distribution; `key` is the setting that holds its probability.
pub(crate) fn coin(key: &str, probability: f64) -> Result<Bernoulli> {
    Bernoulli::new(probability).map_err(|_| Error::setting(key, "a probability between 0 and 1", probability))
}

/// Normal distribution with mean 0; the setting `noise` holds its standard deviation.
pub(crate) fn noise(deviation: f64) -> Result<Normal<f64>> {
    let normal = Normal::new(0.0, deviation).ok().filter(|_| deviation >= 0.0);
    normal.ok_or_else(|| Error::setting("noise", "a finite number of at least 0", deviation))
}

/// Sign of a binary label: −1 for label 0, and 1 for label 1.
pub(crate) fn sign(label: Label) -> f64 {
    2.0 * f64::from(label) - 1.0
}

/// Indicator as a number: 1 if true, and 0 otherwise.
pub(crate) fn indicator(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// Copy of a binary label as the number 0 or 1, flipped with the probability `noise`.
pub(crate) fn noisy_copy(label: Label, noise: Bernoulli, rng: &mut Rng) -> Value<'static> {
    let flip = Label::from(noise.sample(rng));
    Value::Real(f64::from(label ^ flip))
}

/// Index k, drawn with a probability proportional to exp(scores[k]); overwrites the scores.
pub(crate) fn draw_by_score(scores: &mut [f64], rng: &mut Rng) -> usize {
    // Subtracting the maximum makes the largest weight 1, so exp cannot overflow.
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
