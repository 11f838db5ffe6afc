use std::ops::Range;

use crf_core::simd::{Kernel, dispatch, fma};
use rayon::prelude::*;

/// How many weights are handled at a time: a stripe of a few vectors fits a core's cache.
pub(crate) const STRIPE: usize = 1 << 13;
/// Below so many weights other threads do not pay.
const ENOUGH: usize = 1 << 16;

/// What a pass over a stripe may sum.
pub(crate) type Sums = [f64; 4];

/// Passes over long vectors on all cores, with sums that round the same way at any number of threads.
///
/// Each stripe's sums are kept apart and added up in order. The memory for them is allocated once.
#[derive(Debug)]
pub(crate) struct VectorPasses {
    sums: Vec<Sums>,
}

impl VectorPasses {
    /// For vectors of `dim` numbers.
    pub(crate) fn new(dim: usize) -> Self {
        VectorPasses { sums: vec![[0.0; 4]; dim.div_ceil(STRIPE)] }
    }

    /// Calls `f` with each stripe of `out` and where it starts; the sums of what it returns.
    pub(crate) fn update<T: Send>(
        &mut self,
        out: &mut [T],
        f: impl Fn(usize, &mut [T]) -> Sums + Sync,
    ) -> Sums {
        let dim = out.len();
        let work = |(n, (out, sums)): (usize, (&mut [T], &mut Sums))| *sums = f(n * STRIPE, out);
        let (out, sums) = (out.par_chunks_mut(STRIPE), self.sums.par_iter_mut());
        for_each(dim, out.zip(sums).enumerate(), work);
        self.total()
    }

    /// Calls `f` with the range of each stripe of `dim` numbers; the sums of what it returns.
    pub(crate) fn sum(&mut self, dim: usize, f: impl Fn(Range<usize>) -> Sums + Sync) -> Sums {
        let work = |(n, sums): (usize, &mut Sums)| *sums = f(n * STRIPE..dim.min((n + 1) * STRIPE));
        for_each(dim, self.sums.par_iter_mut().enumerate(), work);
        self.total()
    }

    fn total(&self) -> Sums {
        let add = |a: Sums, b: &Sums| std::array::from_fn(|k| a[k] + b[k]);
        self.sums.iter().fold([0.0; 4], add)
    }

    /// Σ a_k b_k.
    pub(crate) fn dot<A: Stored + Sync, B: Stored + Sync>(&mut self, a: &[A], b: &[B]) -> f64 {
        self.sum(a.len(), |range| {
            let [product] = dots(&a[range.clone()], [&b[range]]);
            [product, 0.0, 0.0, 0.0]
        })[0]
    }
}

/// Calls `work` with every item of a pass over `dim` numbers: on all cores, or on this one if that is quicker.
pub(crate) fn for_each<I: IndexedParallelIterator>(
    dim: usize,
    items: I,
    work: impl Fn(I::Item) + Sync + Send,
) {
    let least = if dim < ENOUGH { usize::MAX } else { 1 };
    items.with_min_len(least).for_each(work);
}

/// A number as it is stored.
pub(crate) trait Stored: Copy {
    fn number(self) -> f64;
}

impl Stored for f64 {
    #[inline(always)]
    fn number(self) -> f64 {
        self
    }
}

impl Stored for f32 {
    #[inline(always)]
    fn number(self) -> f64 {
        self.into()
    }
}

/// The product of `a` with each of several vectors, in running sums that vectorise and always round the same way.
pub(crate) fn dots<const N: usize, A: Stored, B: Stored>(a: &[A], with: [&[B]; N]) -> [f64; N] {
    dispatch(Dots { a, with })
}

struct Dots<'a, const N: usize, A, B> {
    a: &'a [A],
    with: [&'a [B]; N],
}

impl<const N: usize, A: Stored, B: Stored> Kernel for Dots<'_, N, A, B> {
    type Output = [f64; N];

    #[inline(always)]
    fn run<const FMA: bool>(self) -> [f64; N] {
        const LANES: usize = 16;
        let Dots { a, with } = self;
        let (whole, rest) = a.as_chunks::<LANES>();
        let with = with.map(|b| b[..a.len()].as_chunks::<LANES>());
        let mut sums = [[0.0; LANES]; N];
        for (at, a) in whole.iter().enumerate() {
            for n in 0..N {
                let b = &with[n].0[at];
                for k in 0..LANES {
                    sums[n][k] = fma::<FMA>(a[k].number(), b[k].number(), sums[n][k]);
                }
            }
        }
        let mut totals = [0.0; N];
        for n in 0..N {
            for k in 0..LANES {
                totals[n] += sums[n][k];
            }
            for (a, b) in rest.iter().zip(with[n].1) {
                totals[n] += a.number() * b.number();
            }
        }
        totals
    }
}
