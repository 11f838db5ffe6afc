use crf_core::simd::{Kernel, dispatch, fma};
use crf_core::{Result, require, require_memory};
use rayon::prelude::*;

use crate::optimizers::optimizer::Point;
use crate::optimizers::vector_passes::{STRIPE, VectorPasses, dots, for_each};

/// State of the quasi-Newton optimizers between steps, allocated once.
#[derive(Debug)]
pub(crate) struct QuasiNewton {
    pub(crate) history: CurvaturePairs,
    pub(crate) passes: VectorPasses,
    /// Maximum number of evaluations per line search.
    pub(crate) evaluations: u32,
    /// Descent direction with its sign reversed, in single precision like the vectors that it is
    /// made of.
    pub(crate) direction: Vec<f32>,
    /// The point that a line search tries; after the search the point before the step.
    pub(crate) trial: Point,
    stepped: bool, // true if `history` does not know the last step yet; `trial` is the point before it
}

impl QuasiNewton {
    pub(crate) fn new(memory: u32, evaluations: u32, dim: usize) -> Result<Self> {
        let steps = f64::from(memory);
        let bytes = steps * (8.0 * dim as f64 + 16.0 * steps);
        let what = format!("a `memory` of {memory} steps of {dim} weights");
        require_memory(bytes, &what, "remember fewer")?;
        Ok(QuasiNewton {
            history: CurvaturePairs::new(memory as usize, dim),
            passes: VectorPasses::new(dim),
            evaluations,
            direction: vec![0.0; dim],
            trial: Point::new(vec![0.0; dim]),
            stepped: false,
        })
    }

    /// Rejects settings that can never work.
    pub(crate) fn check(memory: u32, evaluations: u32) -> Result<()> {
        require(memory > 0, "memory", "at least 1", memory)?;
        require(evaluations > 0, "evaluations_per_step", "at least 1", evaluations)
    }

    /// Accepts the point that was tried.
    pub(crate) fn accept(&mut self, point: &mut Point) {
        std::mem::swap(point, &mut self.trial);
        self.stepped = true;
    }

    /// Sets `direction` to the estimated inverse curvature at `point` times `gradient`, and returns
    /// their inner product. `gradient` must have the norm that the point says; without remembered
    /// steps the direction has the length 1.
    pub(crate) fn set_direction(&mut self, point: &Point, gradient: &[f64]) -> f64 {
        if std::mem::take(&mut self.stepped) {
            self.history.push([&self.trial, point], gradient);
        } else {
            self.history.multiply_all(gradient);
        }
        let unit = point.gradient_norm.recip();
        self.history.combine(gradient, unit, &mut self.direction, &mut self.passes)
    }
}

/// Curvature pairs: the last few steps s and changes of gradient y, from which L-BFGS estimates the
/// curvature (Nocedal 1980).
///
/// The recursion runs on inner products of the remembered vectors, not on the vectors (Chen, Wang &
/// Zhou 2014): one pass takes all new products, one adds the vectors up. Vectors are stored in
/// single precision, which halves what both passes read; the products are those of the stored
/// vectors, so the matrix is positive definite as ever. The memory is one ring, allocated once.
#[derive(Debug)]
pub(crate) struct CurvaturePairs {
    pairs: Vec<Pair>, // ring
    next: usize,
    len: usize,
    sy: Vec<f64>,              // [memory × memory] s_i · y_j, by index in the ring
    yy: Vec<f64>,              // [memory × memory] y_i · y_j
    stripe_products: Vec<f64>, // [stripes × products]
    stripe_squares: Vec<f64>,  // [stripes] s · s of the newest pair
    products: Vec<Products>,   // [memory] of the newest pair and of v with each pair
    of_s: Vec<f64>,            // [memory] coefficient of each s in the direction
    of_y: Vec<f64>,            // [memory] coefficient of each y in the direction
}

#[derive(Debug, Default)]
struct Pair {
    s: Vec<f32>, // w_{k+1} − w_k
    y: Vec<f32>, // ∇_{k+1} − ∇_k
}

/// Inner products of one remembered pair with the newest pair and with the vector v.
#[derive(Debug, Clone, Copy, Default)]
struct Products {
    vs: f64, // v · s
    vy: f64, // v · y
    ys: f64, // newest y · s
    sy: f64, // newest s · y
    yy: f64, // newest y · y
}

/// Number of products per pair.
const PER_PAIR: usize = 5;
/// Minimum cosine of the angle between s and y: below it the sign of s · y is rounding.
///
/// A cosine has no units. A bound on s · y / y · y would have those of a weight squared, and would
/// forget every step along a column of large numbers.
const MIN_COSINE: f64 = 1e-13;
/// Number of weights handled at a time: the block that all pairs are multiplied with stays in the
/// nearest cache of a core.
const BLOCK: usize = 1 << 10;

impl CurvaturePairs {
    /// Allocates `memory` pairs over `dim` weights.
    pub(crate) fn new(memory: usize, dim: usize) -> Self {
        let pair = || Pair { s: vec![0.0; dim], y: vec![0.0; dim] };
        CurvaturePairs {
            pairs: (0..memory).map(|_| pair()).collect(),
            next: 0,
            len: 0,
            sy: vec![0.0; memory * memory],
            yy: vec![0.0; memory * memory],
            stripe_products: vec![0.0; dim.div_ceil(STRIPE) * memory * PER_PAIR],
            stripe_squares: vec![0.0; dim.div_ceil(STRIPE)],
            products: vec![Products::default(); memory],
            of_s: vec![0.0; memory],
            of_y: vec![0.0; memory],
        }
    }

    /// Forgets all pairs.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// True if no pair is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Index in the ring of the pair that was remembered `k` steps before the newest.
    fn ring_index(&self, k: usize) -> usize {
        let memory = self.pairs.len();
        (self.next + memory - 1 - k) % memory
    }

    /// Remembers a step, unless rounding or a concave stretch made its curvature useless, and takes
    /// all products that [`CurvaturePairs::combine`] needs for `v`.
    pub(crate) fn push(&mut self, [before, now]: [&Point; 2], v: &[f64]) {
        let (memory, slot) = (self.pairs.len(), self.next);
        let mut newest = std::mem::take(&mut self.pairs[slot]);
        let (pairs, per_stripe) = (&self.pairs, memory * PER_PAIR);
        let stripes = self.stripe_products.par_chunks_mut(per_stripe).zip(&mut self.stripe_squares);
        let changes = newest.s.par_chunks_mut(STRIPE).zip(newest.y.par_chunks_mut(STRIPE));
        for_each(v.len(), changes.zip(stripes).enumerate(), |(n, ((s, y), (sums, square)))| {
            let range = n * STRIPE..n * STRIPE + s.len();
            dispatch(Differ { now: &now.w[range.clone()], before: &before.w[range.clone()], out: s });
            dispatch(Differ {
                now: &now.gradient[range.clone()],
                before: &before.gradient[range.clone()],
                out: y,
            });
            sums.fill(0.0);
            *square = 0.0;
            let (mut wide_s, mut wide_y) = ([0.0; BLOCK], [0.0; BLOCK]);
            for start in (0..s.len()).step_by(BLOCK) {
                let block = start..s.len().min(start + BLOCK);
                let (wide_s, wide_y) = (&mut wide_s[..block.len()], &mut wide_y[..block.len()]);
                dispatch(Widen { from: &s[block.clone()], to: wide_s });
                dispatch(Widen { from: &y[block.clone()], to: wide_y });
                let block = range.start + block.start..range.start + block.end;
                let v = &v[block.clone()];
                *square += dots(&*wide_s, [&*wide_s])[0];
                for (pair, sums) in sums.as_chunks_mut::<PER_PAIR>().0.iter_mut().enumerate() {
                    let ([vs, ys], [vy, sy, yy]) = if pair == slot {
                        (dots(&*wide_s, [v, wide_y]), dots(&*wide_y, [v, wide_s, wide_y]))
                    } else {
                        let Pair { s, y } = &pairs[pair];
                        (dots(&s[block.clone()], [v, wide_y]), dots(&y[block.clone()], [v, wide_s, wide_y]))
                    };
                    for (sum, product) in sums.iter_mut().zip([vs, vy, ys, sy, yy]) {
                        *sum += product;
                    }
                }
            }
        });
        self.pairs[slot] = newest;
        self.add_up();
        let Products { sy, yy, .. } = self.products[slot];
        let ss: f64 = self.stripe_squares.iter().sum();
        // The pair that was in the slot is gone either way.
        self.len = self.len.min(memory - 1);
        if !(sy.is_finite() && yy.is_finite() && sy > MIN_COSINE * ss.sqrt() * yy.sqrt()) {
            return;
        }
        for (pair, products) in self.products.iter().enumerate() {
            self.sy[slot * memory + pair] = products.sy;
            self.sy[pair * memory + slot] = products.ys;
            self.yy[slot * memory + pair] = products.yy;
            self.yy[pair * memory + slot] = products.yy;
        }
        self.next = (slot + 1) % memory;
        self.len += 1;
    }

    /// Takes the products of `v` that [`CurvaturePairs::combine`] needs.
    pub(crate) fn multiply_all(&mut self, v: &[f64]) {
        if self.len == 0 {
            return;
        }
        let pairs = &self.pairs;
        let stripes = self.stripe_products.par_chunks_mut(pairs.len() * PER_PAIR);
        for_each(v.len(), stripes.zip(v.par_chunks(STRIPE)).enumerate(), |(n, (sums, v))| {
            let range = n * STRIPE..n * STRIPE + v.len();
            for (pair, sums) in pairs.iter().zip(sums.as_chunks_mut::<PER_PAIR>().0) {
                let ([vs], [vy]) = (dots(&pair.s[range.clone()], [v]), dots(&pair.y[range.clone()], [v]));
                *sums = [vs, vy, 0.0, 0.0, 0.0];
            }
        });
        self.add_up();
    }

    /// Adds the products of all stripes, in order.
    fn add_up(&mut self) {
        self.products.fill(Products::default());
        for stripe in self.stripe_products.chunks_exact(self.pairs.len() * PER_PAIR) {
            for (total, sums) in self.products.iter_mut().zip(stripe.as_chunks::<PER_PAIR>().0) {
                let [vs, vy, ys, sy, yy] = sums;
                total.vs += vs;
                total.vy += vy;
                total.ys += ys;
                total.sy += sy;
                total.yy += yy;
            }
        }
    }

    /// Writes the estimated inverse curvature times `v` to `direction`, and returns their inner
    /// product (Nocedal & Wright 2006, algorithm 7.4, in coefficients of the remembered vectors).
    /// `unit` is the inverse curvature as long as no pair is known.
    pub(crate) fn combine(
        &mut self,
        v: &[f64],
        unit: f64,
        direction: &mut [f32],
        passes: &mut VectorPasses,
    ) -> f64 {
        let memory = self.pairs.len();
        self.of_s.fill(0.0);
        self.of_y.fill(0.0);
        // Until the middle, of_s holds the α of the algorithm, and of_y is −α.
        for k in 0..self.len {
            let i = self.ring_index(k);
            let rest: f64 =
                (0..k).map(|j| self.ring_index(j)).map(|j| self.of_y[j] * self.sy[i * memory + j]).sum();
            let alpha = (self.products[i].vs + rest) / self.sy[i * memory + i];
            (self.of_s[i], self.of_y[i]) = (alpha, -alpha);
        }
        let scale = match self.len {
            0 => unit,
            _ => {
                let i = self.ring_index(0);
                self.sy[i * memory + i] / self.yy[i * memory + i]
            }
        };
        self.of_y.iter_mut().for_each(|of_y| *of_y *= scale);
        for k in (0..self.len).rev() {
            let i = self.ring_index(k);
            let indices = (0..self.len).map(|j| (j, self.ring_index(j)));
            let rest = indices.map(|(age, j)| {
                // The coefficients of s are final from the oldest pair up to this one.
                let of_s = if age > k { self.of_s[j] * self.sy[j * memory + i] } else { 0.0 };
                self.of_y[j] * self.yy[i * memory + j] + of_s
            });
            let product = scale * self.products[i].vy + rest.sum::<f64>();
            self.of_s[i] -= product / self.sy[i * memory + i];
        }
        let [product, ..] = passes.update(direction, |start, direction| {
            let mut sum = [0.0; BLOCK];
            let mut product = 0.0;
            for (n, out) in direction.chunks_mut(BLOCK).enumerate() {
                let range = start + n * BLOCK..start + n * BLOCK + out.len();
                let (sum, v) = (&mut sum[..out.len()], &v[range.clone()]);
                sum.iter_mut().zip(v).for_each(|(sum, v)| *sum = scale * v);
                for k in 0..self.len {
                    let i = self.ring_index(k);
                    let (s, y) = (&self.pairs[i].s[range.clone()], &self.pairs[i].y[range.clone()]);
                    dispatch(Combine { sum, of_s: self.of_s[i], s, of_y: self.of_y[i], y });
                }
                dispatch(Narrow { from: sum, to: out });
                let [of_block] = dots(out, [v]);
                product += of_block;
            }
            [product, 0.0, 0.0, 0.0]
        });
        product
    }
}

/// `out = now − before`.
struct Differ<'a> {
    now: &'a [f64],
    before: &'a [f64],
    out: &'a mut [f32],
}

impl Kernel for Differ<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for ((out, now), before) in self.out.iter_mut().zip(self.now).zip(self.before) {
            *out = (now - before) as f32;
        }
    }
}

/// `to = from`, in double precision.
struct Widen<'a> {
    from: &'a [f32],
    to: &'a mut [f64],
}

impl Kernel for Widen<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (to, &from) in self.to.iter_mut().zip(self.from) {
            *to = from.into();
        }
    }
}

/// `to = from`, in single precision.
struct Narrow<'a> {
    from: &'a [f64],
    to: &'a mut [f32],
}

impl Kernel for Narrow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for (to, &from) in self.to.iter_mut().zip(self.from) {
            *to = from as f32;
        }
    }
}

/// `sum = sum + of_s · s + of_y · y`.
struct Combine<'a> {
    sum: &'a mut [f64],
    of_s: f64,
    s: &'a [f32],
    of_y: f64,
    y: &'a [f32],
}

impl Kernel for Combine<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Combine { sum, of_s, s, of_y, y } = self;
        for ((sum, &s), &y) in sum.iter_mut().zip(s).zip(y) {
            *sum = fma::<FMA>(of_s, s.into(), fma::<FMA>(of_y, y.into(), *sum));
        }
    }
}
