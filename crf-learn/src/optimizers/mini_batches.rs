use crf_core::{Error, Result, Seed};

use crate::optimizers::optimizer::{CostFunction, OptimizerState, PenaltyFactor, Point};
use crate::training::shuffled_order::ShuffledOrder;

/// Update rule of a mini-batch optimizer.
pub(crate) trait Update: Send {
    /// Changes `w` by an estimate of the gradient of the mean over all positions, ℓ2 penalty
    /// included. `l1` is the ℓ1
    /// penalty on the same scale, and `epoch` the number of times that all items were seen.
    fn update(&mut self, w: &mut [f64], gradient: &[f64], l1: PenaltyFactor<'_>, epoch: f64);
}

/// Mini-batch steps, one epoch each: all items once, batch by batch, in an order drawn anew.
///
/// The gradient is that of the mean over the positions, so that rates mean the same for small and
/// large data and for long and short sequences: the gradient of a batch is divided by its part of
/// all items times their positions, and penalties by the number of positions. So it is right on
/// average, whatever lengths the sequences of a batch have. After the epoch the objective is
/// evaluated over all items for the trace; that takes at most as long as the epoch did.
pub(crate) struct MiniBatches<U> {
    update: U,
    batch: usize,
    order: ShuffledOrder,
    gradient: Vec<f64>,
    epochs: u32,
}

impl<U: Update + 'static> MiniBatches<U> {
    /// Starts epochs over the items of `f`.
    pub(crate) fn start(update: U, batch: u32, f: &dyn CostFunction, seed: &Seed) -> Box<dyn OptimizerState> {
        let (order, gradient) = (ShuffledOrder::new(f.n_items(), seed), vec![0.0; f.dim()]);
        Box::new(MiniBatches { update, batch: batch as usize, order, gradient, epochs: 0 })
    }
}

impl<U: Update> OptimizerState for MiniBatches<U> {
    fn step(&mut self, f: &mut dyn CostFunction, point: &mut Point) -> Result<bool> {
        let MiniBatches { update, batch, order, gradient, epochs } = self;
        let items = order.next();
        let n = items.len() as f64;
        // Where nothing counts, all gradients are zero.
        let n_positions = if f.n_positions() > 0.0 { f.n_positions() } else { 1.0 };
        let mut done = 0;
        for items in items.chunks(*batch) {
            f.evaluate_some(items, &point.w, gradient)?;
            let mean = n / (items.len() as f64 * n_positions);
            let l2 = f.l2();
            for (k, (slope, w)) in gradient.iter_mut().zip(&point.w).enumerate() {
                *slope = mean * *slope + l2.of(k) / n_positions * w;
            }
            let l1 = f.l1();
            let l1 = PenaltyFactor { of_all: l1.of_all / n_positions, ..l1 };
            update.update(&mut point.w, gradient, l1, f64::from(*epochs) + done as f64 / n);
            done += items.len();
        }
        *epochs += 1;
        f.evaluate(point)?;
        if point.value.is_finite() && point.gradient_norm.is_finite() {
            return Ok(true);
        }
        let message = format!("the objective is {} after epoch {epochs}; lower the `rate`", point.value);
        Err(Error::NotFinite(message))
    }

    fn descends(&self) -> bool {
        false
    }
}
