use std::ops::Range;

use crf_core::{Aligned, ConstrainedTables, Dataset, Result, Scratch};

/// An objective: a function of the weights that is a sum over the items (sequences) of a dataset.
///
/// Items are added to partial sums on all cores, partial sums are added in a fixed order, and the
/// total is finished once. So the result does not depend on the number of threads. `begin` and
/// `add` allocate nothing after their first call.
pub trait Objective: Send + Sync {
    /// Number of weights.
    fn dim(&self) -> usize;
    /// Number of items.
    fn n_items(&self) -> usize;
    /// Sum of the weights of all positions that count: the number of positions that the value grows
    /// with.
    fn n_positions(&self) -> f64;
    /// Work of an item, relative to other items.
    fn cost(&self, item: usize) -> usize;
    /// Length of a [`PartialSum`]: the gradient, in whatever layout suits the objective, and other
    /// sums.
    fn part_len(&self) -> usize;
    /// Computes what all items share under weights `w`, before all items are added, or only `some`
    /// of them.
    fn begin(&mut self, w: &[f64], some: Option<&[usize]>);
    /// Adds the value and gradient of one item.
    fn add(&self, w: &[f64], item: usize, part: &mut PartialSum, worker: &mut WorkerMemory) -> Result<()>;
    /// Adds the values and gradients of consecutive items; objectives that can process several
    /// items at once override it.
    fn add_all(
        &self,
        w: &[f64],
        items: Range<usize>,
        part: &mut PartialSum,
        worker: &mut WorkerMemory,
    ) -> Result<()> {
        items.into_iter().try_for_each(|item| self.add(w, item, part, worker))
    }
    /// Returns the value from the total over all items, or over `some`, and writes its gradient to
    /// `gradient`.
    fn finish(&mut self, w: &[f64], some: Option<&[usize]>, total: &PartialSum, gradient: &mut [f64]) -> f64;
    /// True if `value` is so low that the data are separable: only weights that grow for ever lead
    /// there.
    fn is_separated(&self, value: f64) -> bool;
}

impl<O: Objective + ?Sized> Objective for Box<O> {
    fn dim(&self) -> usize {
        (**self).dim()
    }

    fn n_items(&self) -> usize {
        (**self).n_items()
    }

    fn n_positions(&self) -> f64 {
        (**self).n_positions()
    }

    fn cost(&self, item: usize) -> usize {
        (**self).cost(item)
    }

    fn part_len(&self) -> usize {
        (**self).part_len()
    }

    fn begin(&mut self, w: &[f64], some: Option<&[usize]>) {
        (**self).begin(w, some);
    }

    fn add(&self, w: &[f64], item: usize, part: &mut PartialSum, worker: &mut WorkerMemory) -> Result<()> {
        (**self).add(w, item, part, worker)
    }

    fn add_all(
        &self,
        w: &[f64],
        items: Range<usize>,
        part: &mut PartialSum,
        worker: &mut WorkerMemory,
    ) -> Result<()> {
        (**self).add_all(w, items, part, worker)
    }

    fn finish(&mut self, w: &[f64], some: Option<&[usize]>, total: &PartialSum, gradient: &mut [f64]) -> f64 {
        (**self).finish(w, some, total, gradient)
    }

    fn is_separated(&self, value: f64) -> bool {
        (**self).is_separated(value)
    }
}

/// Sum of the weights of all positions of a dataset.
pub(crate) fn weighted_positions(data: &Dataset) -> f64 {
    (0..data.len()).map(|i| data.weight(i) * data.range(i).len() as f64).sum()
}

/// Partial sum over some of the items.
#[derive(Debug)]
pub struct PartialSum {
    /// The value.
    pub value: f64,
    /// Numbers of the sum; their length is [`Objective::part_len`].
    pub vector: Aligned,
    /// True if all inference behind the sum was exact.
    pub exact: bool,
}

impl PartialSum {
    /// Creates an empty sum of `len` numbers.
    pub fn new(len: usize) -> Self {
        PartialSum { value: 0.0, vector: Aligned::zeros(len), exact: true }
    }

    /// Sets the sum to zero.
    pub fn clear(&mut self) {
        self.value = 0.0;
        self.vector.fill(0.0);
        self.exact = true;
    }
}

/// Memory of one worker, kept from item to item.
#[derive(Debug, Default)]
pub struct WorkerMemory {
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
