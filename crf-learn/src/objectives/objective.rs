use std::ops::Range;

use crf_core::{Aligned, ConstrainedTables, Result, Scratch};

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
    /// True if the objective over all items is the sum of the objectives over parts of them.
    fn is_sum(&self) -> bool {
        true
    }
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

    fn is_sum(&self) -> bool {
        (**self).is_sum()
    }

    fn is_separated(&self, value: f64) -> bool {
        (**self).is_separated(value)
    }
}

/// Partial sum over some of the items, in units of exp(`log_scale`).
#[derive(Debug)]
pub struct PartialSum {
    /// The value.
    pub value: f64,
    /// Numbers of the sum; their length is [`Objective::part_len`].
    pub vector: Aligned,
    /// True if all inference behind the sum was exact.
    pub exact: bool,
    /// Logarithm of the unit of value and vector; 0 unless [`PartialSum::raise`] changed it.
    pub log_scale: f64,
}

/// Logarithm of the factor by which numbers may exceed their unit; sums of such numbers still fit a
/// double.
const MAX_LOG_FACTOR: f64 = 300.0;

impl PartialSum {
    /// Creates an empty sum of `len` numbers.
    pub fn new(len: usize) -> Self {
        PartialSum { value: 0.0, vector: Aligned::zeros(len), exact: true, log_scale: 0.0 }
    }

    /// Chooses a unit in which exp(`log`) can be added without overflow, and is not lost unless
    /// something larger follows.
    ///
    /// Only for sums of positive values.
    pub fn raise(&mut self, log: f64) {
        if self.value == 0.0 {
            self.log_scale = log;
        } else if log > self.log_scale + MAX_LOG_FACTOR {
            self.change_scale(log);
        }
    }

    /// Changes the unit; the sum stays the same.
    pub(crate) fn change_scale(&mut self, log_scale: f64) {
        let factor = self.factor(log_scale);
        if factor != 1.0 {
            self.value *= factor;
            self.vector.iter_mut().for_each(|number| *number *= factor);
        }
        self.log_scale = log_scale;
    }

    /// Factor that converts the numbers to units of exp(`log_scale`), which must not be smaller
    /// than the present unit unless the sum is empty.
    pub(crate) fn factor(&self, log_scale: f64) -> f64 {
        if self.log_scale > log_scale { 0.0 } else { (self.log_scale - log_scale).exp() }
    }

    /// Sets the sum to zero.
    pub fn clear(&mut self) {
        self.value = 0.0;
        self.vector.fill(0.0);
        self.exact = true;
        self.log_scale = 0.0;
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
