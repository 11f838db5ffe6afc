use crf_core::{Error, Result, Seed};

use crate::optimizers::optimizer::{Factor, Function, Point, Step};
use crate::training::shuffled_order::Order;

/// How an optimizer that goes from batch to batch changes the weights after each.
pub(crate) trait Update: Send {
    /// Changes `w` by the gradient of the mean over a batch, ℓ2 penalty included. `l1` is the ℓ1 penalty on the same scale,
    /// and `epoch` how often all items were seen.
    fn update(&mut self, w: &mut [f64], gradient: &[f64], l1: Factor<'_>, epoch: f64);
}

/// Steps of one epoch each: all items once, batch by batch, in an order drawn anew.
///
/// What is followed is the mean over the items, so that rates mean the same for few and many data: the gradient of a batch
/// is divided by its size, and penalties by the number of items. After the epoch the objective is evaluated over all
/// items, which is what the trace shows; that takes at most as long as the epoch did.
pub(crate) struct Epochs<U> {
    update: U,
    batch: usize,
    order: Order,
    gradient: Vec<f64>,
    epochs: u32,
}

impl<U: Update + 'static> Epochs<U> {
    /// Epochs over the items of `f`, which must be a sum.
    pub(crate) fn start(
        tag: &'static str,
        update: U,
        batch: u32,
        f: &dyn Function,
        seed: &Seed,
    ) -> Result<Box<dyn Step>> {
        let Some(n_items) = f.n_items() else {
            let what = "needs an objective that is a sum over sequences: `mle`, `pseudo-likelihood`, or `m-estimator` \
                        with `form = \"joint\"`; for the centred form take `lbfgs` or `owl-qn`";
            return Err(Error::Unsupported { tag, what: what.into() });
        };
        let (order, gradient) = (Order::new(n_items, seed), vec![0.0; f.dim()]);
        Ok(Box::new(Epochs { update, batch: batch as usize, order, gradient, epochs: 0 }))
    }
}

impl<U: Update> Step for Epochs<U> {
    fn step(&mut self, f: &mut dyn Function, at: &mut Point) -> Result<bool> {
        let Epochs { update, batch, order, gradient, epochs } = self;
        let items = order.next();
        let n = items.len() as f64;
        for (done, items) in (0..).step_by(*batch).zip(items.chunks(*batch)) {
            f.evaluate_some(items, &at.w, gradient)?;
            let (mean, l2) = (1.0 / items.len() as f64, f.l2());
            for (k, (slope, w)) in gradient.iter_mut().zip(&at.w).enumerate() {
                *slope = mean * *slope + l2.of(k) / n * w;
            }
            let l1 = f.l1();
            let l1 = Factor { of_all: l1.of_all / n, ..l1 };
            update.update(&mut at.w, gradient, l1, f64::from(*epochs) + done as f64 / n);
        }
        *epochs += 1;
        f.evaluate(at)?;
        if at.value.is_finite() && at.gradient_norm.is_finite() {
            return Ok(true);
        }
        let message = format!("the objective is {} after epoch {epochs}; lower the `rate`", at.value);
        Err(Error::NotFinite(message))
    }
}
