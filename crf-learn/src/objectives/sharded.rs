use std::ops::Range;

use crf_core::Result;
use rayon::prelude::*;

use crate::objectives::objective::{Objective, PartialSum, WorkerMemory};

/// Maximum number of shards; each holds a gradient.
const MAX_SHARDS: usize = 16;
/// Minimum work of a shard.
const MIN_SHARD_WORK: usize = 50_000;
/// Minimum work of a shard per number of its partial sum; below it summing the shards would take
/// too much of the time.
const MIN_WORK_PER_NUMBER: usize = 40;
/// Maximum size in bytes of the partial sums of all shards, unless there are only two shards.
const MAX_BYTES: usize = 128 << 20;
/// Numbers added over the shards at a time.
const STRIPE: usize = 1 << 14;

/// An objective whose items are dealt to shards, which are evaluated on all cores.
///
/// The number of shards depends on the data alone and they are summed in order, so the result is
/// the same, bit for bit, at any number of threads.
pub struct Sharded<O> {
    objective: O,
    shards: Vec<Shard>,
    work: usize, // of all items, in units of `Objective::cost`
    seen: usize, // number of items evaluated so far
}

struct Shard {
    items: Range<usize>,
    part: PartialSum,
    worker: WorkerMemory,
}

impl<O: Objective> Sharded<O> {
    /// Deals the items to shards of about equal work.
    pub fn new(objective: O) -> Self {
        let costs: Vec<usize> = (0..objective.n_items()).map(|item| objective.cost(item)).collect();
        let total: usize = costs.iter().sum();
        let len = objective.part_len();
        let by_size =
            (total / (MIN_WORK_PER_NUMBER * len.max(1))).max(4).min(MAX_BYTES / (8 * len.max(1))).max(2);
        let n_shards = (total / MIN_SHARD_WORK).clamp(1, MAX_SHARDS.min(by_size));
        let mut shards: Vec<Shard> = Vec::new();
        let (mut start, mut done) = (0, 0);
        for (item, cost) in costs.iter().enumerate() {
            done += cost;
            // The k-th shard ends with the item that brings the cost to k parts of the whole.
            if done * n_shards >= total * (shards.len() + 1) || item + 1 == costs.len() {
                shards.push(Shard {
                    items: start..item + 1,
                    part: PartialSum::new(len),
                    worker: WorkerMemory::default(),
                });
                start = item + 1;
            }
        }
        if shards.is_empty() {
            shards.push(Shard { items: 0..0, part: PartialSum::new(len), worker: WorkerMemory::default() });
        }
        Sharded { objective, shards, work: total, seen: 0 }
    }

    /// The objective.
    pub fn objective(&self) -> &O {
        &self.objective
    }

    /// Work of all items together.
    pub(crate) fn work(&self) -> usize {
        self.work
    }

    /// Number of evaluations so far, each over all items.
    pub fn evaluations(&self) -> u32 {
        (self.seen / self.objective.n_items().max(1)) as u32
    }

    /// True if all inference of the last evaluation was exact.
    pub fn was_exact(&self) -> bool {
        self.shards[0].part.exact
    }

    /// Returns the value at `w`, and writes the gradient to `gradient`.
    pub fn evaluate(&mut self, w: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.seen += self.objective.n_items();
        self.sum(w, None, gradient)
    }

    /// Returns the value of the sum over some of the items at `w`, and writes its gradient to
    /// `gradient`.
    pub fn evaluate_some(&mut self, items: &[usize], w: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.seen += items.len();
        self.sum(w, Some(items), gradient)
    }

    fn sum(&mut self, w: &[f64], some: Option<&[usize]>, gradient: &mut [f64]) -> Result<f64> {
        let Sharded { objective, shards, .. } = self;
        objective.begin(w, some);
        let shared = &*objective;
        let n_used = some.map_or(shards.len(), |items| {
            let cost: usize = items.iter().map(|&item| shared.cost(item)).sum();
            (cost / MIN_SHARD_WORK).clamp(1, shards.len())
        });
        let shards = &mut shards[..n_used];
        let work = |(s, shard): (usize, &mut Shard)| {
            let Shard { items, part, worker } = shard;
            part.clear();
            match some {
                None => shared.add_all(w, items.clone(), part, worker),
                Some(some) => {
                    let [start, end] = [s, s + 1].map(|s| s * some.len() / n_used);
                    some[start..end].iter().try_for_each(|&item| shared.add(w, item, part, worker))
                }
            }
        };
        // A single shard stays on this thread: a waiting thread could take on another job that
        // delays it.
        match &mut *shards {
            [only] => work((0, only))?,
            many => many.par_iter_mut().enumerate().try_for_each(work)?,
        }
        // The first shard becomes the total.
        let (total, others) = shards.split_first_mut().expect("there is at least one shard");
        let (total, others) = (&mut total.part, &*others);
        for shard in others {
            total.value += shard.part.value;
            total.exact &= shard.part.exact;
        }
        let sum = |(stripe, total): (usize, &mut [f64])| {
            let range = stripe * STRIPE..stripe * STRIPE + total.len();
            for shard in others {
                let part = &shard.part.vector[range.clone()];
                total.iter_mut().zip(part).for_each(|(total, part)| *total += part);
            }
        };
        if others.is_empty() || total.vector.len() <= STRIPE {
            total.vector.chunks_mut(STRIPE).enumerate().for_each(sum);
        } else {
            total.vector.par_chunks_mut(STRIPE).enumerate().for_each(sum);
        }
        Ok(objective.finish(w, some, total, gradient))
    }
}
