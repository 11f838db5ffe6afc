use crf_core::{Error, Result, Seed};

use crate::optimizers::optimizer::{CostFunction, OptimizerState, PenaltyFactor, Point};
use crate::training::shuffled_order::ShuffledOrder;

/// Update rule of a mini-batch optimizer.
pub(crate) trait Update: Send {
    /// Changes `w` by the gradient of the mean over a batch, ℓ2 penalty included. `l1` is the ℓ1
    /// penalty on the same scale, and `epoch` the number of times that all items were seen.
    fn update(&mut self, w: &mut [f64], gradient: &[f64], l1: PenaltyFactor<'_>, epoch: f64);
}

/// Mini-batch steps, one epoch each: all items once, batch by batch, in an order drawn anew.
///
/// The gradient is that of the mean over the items, so that rates mean the same for small and large
/// data: the gradient of a batch is divided by its size, and penalties by the number of items.
/// After the epoch the objective is evaluated over all items for the trace; that takes at most as
/// long as the epoch did.
pub(crate) struct MiniBatches<U> {
    update: U,
    batch: usize,
    order: ShuffledOrder,
    gradient: Vec<f64>,
    epochs: u32,
}

impl<U: Update + 'static> MiniBatches<U> {
    /// Starts epochs over the items of `f`, which must be a sum.
    pub(crate) fn start(
        tag: &'static str,
        update: U,
        batch: u32,
        f: &dyn CostFunction,
        seed: &Seed,
    ) -> Result<Box<dyn OptimizerState>> {
        let Some(n_items) = f.n_items() else {
            let what = "needs an objective that is a sum over sequences: `mle`, `pseudo-likelihood`, or `m-estimator` \
                        with `form = \"joint\"`; for the centred form take `lbfgs` or `owl-qn`";
            return Err(Error::Unsupported { tag, what: what.into() });
        };
        let (order, gradient) = (ShuffledOrder::new(n_items, seed), vec![0.0; f.dim()]);
        Ok(Box::new(MiniBatches { update, batch: batch as usize, order, gradient, epochs: 0 }))
    }
}

impl<U: Update> OptimizerState for MiniBatches<U> {
    fn step(&mut self, f: &mut dyn CostFunction, point: &mut Point) -> Result<bool> {
        let MiniBatches { update, batch, order, gradient, epochs } = self;
        let items = order.next();
        let n = items.len() as f64;
        for (done, items) in (0..).step_by(*batch).zip(items.chunks(*batch)) {
            f.evaluate_some(items, &point.w, gradient)?;
            let mean = 1.0 / items.len() as f64;
            let l2 = f.l2();
            for (k, (slope, w)) in gradient.iter_mut().zip(&point.w).enumerate() {
                *slope = mean * *slope + l2.of(k) / n * w;
            }
            let l1 = f.l1();
            let l1 = PenaltyFactor { of_all: l1.of_all / n, ..l1 };
            update.update(&mut point.w, gradient, l1, f64::from(*epochs) + done as f64 / n);
        }
        *epochs += 1;
        f.evaluate(point)?;
        if point.value.is_finite() && point.gradient_norm.is_finite() {
            return Ok(true);
        }
        let message = format!("the objective is {} after epoch {epochs}; lower the `rate`", point.value);
        Err(Error::NotFinite(message))
    }
}
