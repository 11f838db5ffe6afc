use crf_core::{Rng, Seed};
use rand::seq::SliceRandom as _;

/// Order of the sequences, drawn anew for each epoch.
pub(crate) struct ShuffledOrder {
    rng: Rng,
    sequences: Vec<usize>,
}

impl ShuffledOrder {
    /// Creates the order of `len` sequences.
    pub(crate) fn new(len: usize, seed: &Seed) -> Self {
        ShuffledOrder { rng: seed.child("order").rng(), sequences: (0..len).collect() }
    }

    /// Draws the next order.
    pub(crate) fn next(&mut self) -> &[usize] {
        self.sequences.shuffle(&mut self.rng);
        &self.sequences
    }
}
