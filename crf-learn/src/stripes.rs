use rayon::prelude::*;

/// How many weights are handled at a time: a stripe of a few vectors fits a core's cache.
const STRIPE: usize = 1 << 13;
/// Below so many weights other threads do not pay.
const ENOUGH: usize = 1 << 16;

/// Passes over long vectors on all cores, with sums that round the same way at any number of threads.
///
/// Each stripe's sums are kept apart and added up in order. The memory for them is allocated once.
#[derive(Debug)]
pub(crate) struct Stripes {
    sums: Vec<[f64; 3]>,
}

impl Stripes {
    /// For vectors of `dim` numbers.
    pub(crate) fn new(dim: usize) -> Self {
        Stripes { sums: vec![[0.0; 3]; dim.div_ceil(STRIPE)] }
    }

    /// Calls `f` with each stripe of `out` and where it starts; the sums of what it returns.
    pub(crate) fn update(
        &mut self,
        out: &mut [f64],
        f: impl Fn(usize, &mut [f64]) -> [f64; 3] + Sync,
    ) -> [f64; 3] {
        let work = |(n, (out, sums)): (usize, (&mut [f64], &mut [f64; 3]))| *sums = f(n * STRIPE, out);
        if out.len() < ENOUGH {
            out.chunks_mut(STRIPE).zip(&mut self.sums).enumerate().for_each(work);
        } else {
            out.par_chunks_mut(STRIPE).zip(&mut self.sums).enumerate().for_each(work);
        }
        self.total()
    }

    /// Calls `f` with the range of each stripe of `dim` numbers; the sums of what it returns.
    pub(crate) fn sum(
        &mut self,
        dim: usize,
        f: impl Fn(std::ops::Range<usize>) -> [f64; 3] + Sync,
    ) -> [f64; 3] {
        let work = |(n, sums): (usize, &mut [f64; 3])| *sums = f(n * STRIPE..dim.min((n + 1) * STRIPE));
        if dim < ENOUGH {
            self.sums.iter_mut().enumerate().for_each(work);
        } else {
            self.sums.par_iter_mut().enumerate().for_each(work);
        }
        self.total()
    }

    fn total(&self) -> [f64; 3] {
        let add = |a: [f64; 3], b: &[f64; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
        self.sums.iter().fold([0.0; 3], add)
    }

    /// Σ a_k b_k.
    pub(crate) fn dot(&mut self, a: &[f64], b: &[f64]) -> f64 {
        self.sum(a.len(), |range| [dot(&a[range.clone()], &b[range]), 0.0, 0.0])[0]
    }

    /// `to += factor · from`, and then Σ to_k with_k, in one pass.
    pub(crate) fn add_then_dot(&mut self, to: &mut [f64], factor: f64, from: &[f64], with: &[f64]) -> f64 {
        let sums = self.update(to, |start, to| {
            to.iter_mut().zip(&from[start..]).for_each(|(to, from)| *to += factor * from);
            [dot(to, &with[start..start + to.len()]), 0.0, 0.0]
        });
        sums[0]
    }
}

/// Σ a_k b_k in eight running sums, so that it vectorises and always rounds the same way.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        for k in 0..8 {
            sums[k] += a[k] * b[k];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}
