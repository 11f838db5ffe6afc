use std::ops::Range;

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
    /// Does what all items share under weights `w`, before all of them are added or, on the way to better weights, `some`.
    fn begin(&mut self, w: &[f64], some: Option<&[usize]>);
    /// Adds the value and gradient of one item.
    fn add(&self, w: &[f64], item: usize, part: &mut PartialSum, worker: &mut WorkerMemory) -> Result<()>;
    /// Adds the values and gradients of items that follow each other, for objectives that can do several at once.
    fn add_all(
        &self,
        w: &[f64],
        items: Range<usize>,
        part: &mut PartialSum,
        worker: &mut WorkerMemory,
    ) -> Result<()> {
        items.into_iter().try_for_each(|item| self.add(w, item, part, worker))
    }
    /// Turns the sum of parts over all items, or over `some`, into the value, and their numbers into `gradient`.
    fn finish(&mut self, w: &[f64], some: Option<&[usize]>, total: &PartialSum, gradient: &mut [f64]) -> f64;
    /// Whether it is the sum of what it is over parts of the items.
    fn is_sum(&self) -> bool {
        true
    }
    /// Whether a value is so low that only weights which grow for ever lead there: the data are separable.
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

/// The sum over some of the items, times exp(`log_scale`).
#[derive(Debug)]
pub struct PartialSum {
    /// The value.
    pub value: f64,
    /// As many numbers as [`Objective::part_len`] asked for.
    pub vector: Aligned,
    /// Whether all inference behind it was exact.
    pub exact: bool,
    /// The logarithm of what value and vector are in units of; 0 unless [`PartialSum::raise`] changed it.
    pub log_scale: f64,
}

/// The logarithm of how far numbers may grow above their unit: sums of what is left fit a double.
const ROOM: f64 = 300.0;

impl PartialSum {
    /// An empty sum of `len` numbers.
    pub fn new(len: usize) -> Self {
        PartialSum { value: 0.0, vector: Aligned::zeros(len), exact: true, log_scale: 0.0 }
    }

    /// Chooses units in which exp(`log`) can be added without overflow, and is not lost if nothing larger comes.
    ///
    /// Only for sums of positive values, of which none is 0.
    pub fn raise(&mut self, log: f64) {
        if self.value == 0.0 {
            self.log_scale = log;
        } else if log > self.log_scale + ROOM {
            self.change_scale(log);
        }
    }

    /// Expresses the same sum in other units.
    pub(crate) fn change_scale(&mut self, log_scale: f64) {
        let factor = self.factor(log_scale);
        if factor != 1.0 {
            self.value *= factor;
            self.vector.iter_mut().for_each(|number| *number *= factor);
        }
        self.log_scale = log_scale;
    }

    /// What its numbers are to be multiplied by for units of exp(`log_scale`), which are at least its own unless it is
    /// empty.
    pub(crate) fn factor(&self, log_scale: f64) -> f64 {
        if self.log_scale > log_scale { 0.0 } else { (self.log_scale - log_scale).exp() }
    }

    /// Empties the sum.
    pub fn clear(&mut self) {
        self.value = 0.0;
        self.vector.fill(0.0);
        self.exact = true;
        self.log_scale = 0.0;
    }
}

/// What one worker needs to handle items, kept from one to the next.
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
