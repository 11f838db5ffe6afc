use crf_core::{Alphabet, Error, Label, Result, Rng, Value};
use rand_distr::{Bernoulli, Distribution as _};

use crate::generators::support::label_chain::numbered;

/// The labels of all binary sources.
pub(crate) fn labels() -> Alphabet {
    numbered(2)
}

/// A biased coin; `key` is the setting that holds its probability.
pub(crate) fn coin(key: &str, probability: f64) -> Result<Bernoulli> {
    Bernoulli::new(probability).map_err(|_| Error::setting(key, "a probability between 0 and 1", probability))
}

/// −1 for label 0, and 1 for label 1.
pub(crate) fn sign(label: Label) -> f64 {
    2.0 * f64::from(label) - 1.0
}

/// A copy of a label as the number 0 or 1, turned into the other one when `noise` says so.
pub(crate) fn noisy_copy(label: Label, noise: Bernoulli, rng: &mut Rng) -> Value<'static> {
    let flip = Label::from(noise.sample(rng));
    Value::Real(f64::from(label ^ flip))
}
