use crf_core::{Aligned, ConstrainedTables, Result, Scratch};

/// A function of the weights that is a sum over the items (sequences) of a corpus.
///
/// Items are added to parts on all cores, parts are summed in a fixed order, and the sum is finished once: so the
/// result does not depend on who computed which part. `begin` and `add` allocate nothing after their first call.
pub trait Objective: Send + Sync {
    /// How many weights there are.
    fn dim(&self) -> usize;
    /// How many items there are.
    fn n_items(&self) -> usize;
    /// How much work an item is, relative to others.
    fn cost(&self, item: usize) -> usize;
    /// How many numbers a part holds: the gradient, in whatever layout suits the objective, and what else it sums.
    fn part_len(&self) -> usize;
    /// Does what all items share under weights `w`.
    fn begin(&mut self, w: &[f64]);
    /// Adds the value and gradient of one item.
    fn add(&self, w: &[f64], item: usize, part: &mut Part, worker: &mut Worker) -> Result<()>;
    /// Turns the sum of all parts into the value, and their numbers into `gradient`.
    fn finish(&self, w: &[f64], total: &Part, gradient: &mut [f64]) -> f64;
    /// Whether a value is so low that only weights which grow for ever lead there: the data are separable.
    fn is_separated(&self, value: f64) -> bool;
}

/// The sum over some of the items.
#[derive(Debug)]
pub struct Part {
    /// The value.
    pub value: f64,
    /// As many numbers as [`Objective::part_len`] asked for.
    pub vector: Aligned,
    /// Whether all inference behind it was exact.
    pub exact: bool,
}

impl Part {
    /// An empty sum of `len` numbers.
    pub fn new(len: usize) -> Self {
        Part { value: 0.0, vector: Aligned::zeros(len), exact: true }
    }

    /// Empties the sum.
    pub fn clear(&mut self) {
        self.value = 0.0;
        self.vector.fill(0.0);
        self.exact = true;
    }
}

/// What one worker needs to handle items, kept from one to the next.
#[derive(Debug, Default)]
pub struct Worker {
    /// For potentials.
    pub potentials: Scratch,
    /// For potentials under constraints.
    pub constrained: ConstrainedTables,
    /// For inference.
    pub inference: Scratch,
    /// For node beliefs.
    pub node: Vec<f64>,
    /// For edge beliefs.
    pub edge: Vec<f64>,
}
