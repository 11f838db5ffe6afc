use crf_core::{Alphabet, DatasetBuilder, Label, Result, Rng, Value};
use rand::RngExt as _;
use rand_distr::{Bernoulli, Distribution as _};

use crate::generators::support::binary::coin;

/// The labels `0`, `1` and so on, so many.
pub(crate) fn numbered(n_labels: usize) -> Alphabet {
    Alphabet::new((0..n_labels).map(|label| label.to_string()))
}

/// A Markov chain that treats all labels alike: it stays, or goes to any other label (Vail 2008, §2.6).
///
/// The first label is uniform, which is the chain's stationary distribution. Backwards it is the same chain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabelChain {
    stay: Bernoulli,
    n_labels: Label,
}

impl LabelChain {
    /// A chain over at least two labels that keeps its label with probability `stay`, which the setting `key` holds.
    pub(crate) fn new(key: &str, stay: f64, n_labels: usize) -> Result<Self> {
        Ok(LabelChain { stay: coin(key, stay)?, n_labels: n_labels as Label })
    }

    /// The label after `before`, or a first one.
    pub(crate) fn step(&self, before: Option<Label>, rng: &mut Rng) -> Label {
        match before {
            None => rng.random_range(0..self.n_labels),
            Some(label) if self.stay.sample(rng) => label,
            Some(label) if self.n_labels == 2 => 1 - label, // nothing to draw
            Some(label) => (label + rng.random_range(1..self.n_labels)) % self.n_labels,
        }
    }

    /// Adds a sequence, each of whose labels follows the one `distance` steps back; `observe` gives the values that are
    /// seen with a label.
    pub(crate) fn fill(
        &self,
        length: usize,
        distance: usize,
        rng: &mut Rng,
        out: &mut DatasetBuilder,
        mut observe: impl FnMut(Label, &mut Rng, &mut Vec<Value<'static>>),
    ) -> Result<()> {
        let (mut y, mut values) = (Vec::with_capacity(length), Vec::new());
        for t in 0..length {
            let label = self.step(t.checked_sub(distance).map(|t| y[t]), rng);
            values.clear();
            observe(label, rng, &mut values);
            out.push(&values, Some(label))?;
            y.push(label);
        }
        out.end_chain()
    }
}
