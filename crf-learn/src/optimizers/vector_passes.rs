use std::ops::Range;

use crf_core::simd::{Kernel, dispatch, fma};
use rayon::prelude::*;

/// Number of weights handled at a time: a stripe of a few vectors fits the cache of a core.
pub(crate) const STRIPE: usize = 1 << 13;
/// Minimum length of vectors for more than one thread.
const MIN_PARALLEL_LEN: usize = 1 << 16;

/// Sums of a pass over a stripe.
pub(crate) type Sums = [f64; 4];

/// Passes over long vectors on all cores, with sums that round the same way at any number of
/// threads.
///
/// The sums of each stripe are stored separately and added in order. Their memory is allocated
/// once.
#[derive(Debug)]
pub(crate) struct VectorPasses {
    sums: Vec<Sums>,
}

impl VectorPasses {
    /// Passes over vectors of `dim` numbers.
    pub(crate) fn new(dim: usize) -> Self {
        VectorPasses { sums: vec![[0.0; 4]; dim.div_ceil(STRIPE)] }
    }

    /// Calls `f` with each stripe of `out` and its offset, and returns the sums of the results.
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

    /// Calls `f` with the range of each stripe of `dim` numbers, and returns the sums of the
    /// results.
    pub(crate) fn sum(&mut self, dim: usize, f: impl Fn(Range<usize>) -> Sums + Sync) -> Sums {
        let work = |(n, sums): (usize, &mut Sums)| *sums = f(n * STRIPE..dim.min((n + 1) * STRIPE));
        for_each(dim, self.sums.par_iter_mut().enumerate(), work);
        self.total()
    }

    fn total(&self) -> Sums {
        let add = |a: Sums, b: &Sums| std::array::from_fn(|k| a[k] + b[k]);
        self.sums.iter().fold([0.0; 4], add)
    }

    /// Inner product Σ a_k b_k.
    pub(crate) fn dot<A: Stored + Sync, B: Stored + Sync>(&mut self, a: &[A], b: &[B]) -> f64 {
        self.sum(a.len(), |range| {
            let [product] = dots(&a[range.clone()], [&b[range]]);
            [product, 0.0, 0.0, 0.0]
        })[0]
    }
}

/// Calls `work` with every item of a pass over `dim` numbers: on all cores, or on this thread if
/// that is faster.
pub(crate) fn for_each<I: IndexedParallelIterator>(
    dim: usize,
    items: I,
    work: impl Fn(I::Item) + Sync + Send,
) {
    let min_len = if dim < MIN_PARALLEL_LEN { usize::MAX } else { 1 };
    items.with_min_len(min_len).for_each(work);
}

/// A stored number.
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

/// Inner products of `a` with several vectors, in running sums that vectorise and always round the
/// same way.
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
        for (block, a) in whole.iter().enumerate() {
            for n in 0..N {
                let b = &with[n].0[block];
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
