use crf_core::{Alphabet, Error, Label, Result, Rng, Value};
use rand::RngExt as _;
use rand_distr::{Bernoulli, Distribution as _};

/// The labels of all binary sources.
pub(crate) fn labels() -> Alphabet {
    Alphabet::new(["0", "1"])
}

/// A biased coin; `key` is the setting that holds its probability.
pub(crate) fn coin(key: &str, probability: f64) -> Result<Bernoulli> {
    Bernoulli::new(probability).map_err(|_| Error::setting(key, "a probability between 0 and 1", probability))
}

/// A first-order Markov chain over two labels that treats both alike (Vail 2008, §2.6).
///
/// The first label is uniform, which is the chain's stationary distribution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabelChain {
    stay: Bernoulli,
}

impl LabelChain {
    /// A chain that keeps its label with probability `stay`, which the setting `key` holds.
    pub(crate) fn new(key: &str, stay: f64) -> Result<Self> {
        Ok(LabelChain { stay: coin(key, stay)? })
    }

    /// The label after `before`, or a first one.
    pub(crate) fn step(&self, before: Option<Label>, rng: &mut Rng) -> Label {
        match before {
            None => rng.random_range(0..2),
            Some(label) if self.stay.sample(rng) => label,
            Some(label) => 1 - label,
        }
    }
}

/// A copy of a label as the number 0 or 1, turned into the other one when `noise` says so.
pub(crate) fn noisy_copy(label: Label, noise: Bernoulli, rng: &mut Rng) -> Value<'static> {
    let flip = Label::from(noise.sample(rng));
    Value::Real(f64::from(label ^ flip))
}
