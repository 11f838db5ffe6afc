use std::ops::Range;

use crf_core::Result;
use rayon::prelude::*;

use crate::objective::{Objective, Part, Worker};

/// No more parts than this: each holds a gradient.
const MOST_SHARDS: usize = 16;
/// Work below which a shard of its own does not pay.
const SMALLEST_SHARD: usize = 50_000;
/// A shard whose work is less than so many times its gradient spends too much of its time on summing up.
const WORTH: usize = 40;
/// Gradients of all shards together take no more bytes than this, unless there are only two.
const MOST_MEMORY: usize = 128 << 20;
/// How many weights are summed over the shards at a time.
const STRIPE: usize = 1 << 14;

/// An objective whose items are dealt to shards, which all cores work on.
///
/// The number of shards depends on the data alone and they are summed in order, so the result is the same, bit for
/// bit, at any number of threads.
pub struct Sharded<O> {
    objective: O,
    shards: Vec<Shard>,
    evaluations: u32,
}

struct Shard {
    items: Range<usize>,
    part: Part,
    worker: Worker,
}

impl<O: Objective> Sharded<O> {
    /// Deals the items to shards of about equal cost.
    pub fn new(objective: O) -> Self {
        let costs: Vec<usize> = (0..objective.n_items()).map(|item| objective.cost(item)).collect();
        let total: usize = costs.iter().sum();
        let len = objective.part_len();
        let by_size = (total / (WORTH * len.max(1))).max(4).min(MOST_MEMORY / (8 * len.max(1))).max(2);
        let n_shards = (total / SMALLEST_SHARD).clamp(1, MOST_SHARDS.min(by_size));
        let mut shards: Vec<Shard> = Vec::new();
        let (mut start, mut done) = (0, 0);
        for (item, cost) in costs.iter().enumerate() {
            done += cost;
            // The k-th shard ends with the item that brings the cost to k parts of the whole.
            if done * n_shards >= total * (shards.len() + 1) || item + 1 == costs.len() {
                shards.push(Shard {
                    items: start..item + 1,
                    part: Part::new(len),
                    worker: Worker::default(),
                });
                start = item + 1;
            }
        }
        if shards.is_empty() {
            shards.push(Shard { items: 0..0, part: Part::new(len), worker: Worker::default() });
        }
        Sharded { objective, shards, evaluations: 0 }
    }

    /// The objective.
    pub fn objective(&self) -> &O {
        &self.objective
    }

    /// How often it was evaluated.
    pub fn evaluations(&self) -> u32 {
        self.evaluations
    }

    /// Whether all inference of the last evaluation was exact.
    pub fn was_exact(&self) -> bool {
        self.shards[0].part.exact
    }

    /// The value at `w`; the gradient is written to `gradient`.
    pub fn evaluate(&mut self, w: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let Sharded { objective, shards, evaluations } = self;
        *evaluations += 1;
        objective.begin(w);
        let objective = &*objective;
        let work = |shard: &mut Shard| {
            shard.part.clear();
            let Shard { items, part, worker } = shard;
            items.clone().try_for_each(|item| objective.add(w, item, part, worker))
        };
        // One shard stays on this thread, where it cannot be held up by another job that a waiting thread took on.
        match shards.as_mut_slice() {
            [only] => work(only)?,
            many => many.par_iter_mut().try_for_each(work)?,
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
                total
                    .iter_mut()
                    .zip(&shard.part.vector[range.clone()])
                    .for_each(|(total, part)| *total += part);
            }
        };
        if others.is_empty() || total.vector.len() <= STRIPE {
            total.vector.chunks_mut(STRIPE).enumerate().for_each(sum);
        } else {
            total.vector.par_chunks_mut(STRIPE).enumerate().for_each(sum);
        }
        Ok(objective.finish(w, total, gradient))
    }
}
