use crf_core::{DatasetBuilder, Label, Result, Rng, Value};
use rand::RngExt as _;
use rand_distr::{Bernoulli, Distribution as _};

use crate::generators::support::draws::coin;

/// Symmetric Markov chain of labels: it keeps its label, or moves to any other label with equal
/// probability (Vail 2008, §2.6).
///
/// The first label is uniform, which is the stationary distribution. The chain is reversible.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabelChain {
    stay: Bernoulli,
    n_labels: Label,
}

impl LabelChain {
    /// Chain over at least two labels; the setting `key` holds `stay`, the probability of keeping
    /// the label.
    pub(crate) fn new(key: &str, stay: f64, n_labels: usize) -> Result<Self> {
        Ok(LabelChain { stay: coin(key, stay)?, n_labels: n_labels as Label })
    }

    /// Draws the label after `previous`; the first label if there is no previous one.
    pub(crate) fn step(&self, previous: Option<Label>, rng: &mut Rng) -> Label {
        match previous {
            None => rng.random_range(0..self.n_labels),
            Some(label) if self.stay.sample(rng) => label,
            Some(label) if self.n_labels == 2 => 1 - label, // nothing to draw
            Some(label) => (label + rng.random_range(1..self.n_labels)) % self.n_labels,
        }
    }

    /// Draws a sequence in which each label follows the one `distance` steps back; `observe` draws
    /// the values observed with a label.
    pub(crate) fn fill(
        &self,
        length: usize,
        distance: usize,
        rng: &mut Rng,
        out: &mut DatasetBuilder,
        mut observe: impl FnMut(Label, &mut Rng, &mut Vec<Value<'static>>),
    ) -> Result<()> {
        let mut y = Vec::with_capacity(length);
        let mut values = Vec::new();
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
