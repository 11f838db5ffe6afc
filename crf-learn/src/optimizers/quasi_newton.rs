use crf_core::simd::{Kernel, dispatch, fma};
use crf_core::{Result, require};
use rayon::prelude::*;

use crate::optimizers::optimizer::Point;
use crate::optimizers::vector_passes::{STRIPE, VectorPasses, dots, for_each};

/// What the quasi-Newton optimizers keep between steps, allocated once.
#[derive(Debug)]
pub(crate) struct QuasiNewton {
    pub(crate) history: CurvaturePairs,
    pub(crate) stripes: VectorPasses,
    /// How often a line search may evaluate the function.
    pub(crate) evaluations: u32,
    /// Where to go, in single precision like what it is made of.
    pub(crate) direction: Vec<f32>,
    /// The point that a line search is trying; after it, the one before.
    pub(crate) trial: Point,
    stepped: bool, // whether `trial` holds the point before the last step, which `history` does not know yet
}

impl QuasiNewton {
    pub(crate) fn new(memory: u32, evaluations: u32, dim: usize) -> Self {
        QuasiNewton {
            history: CurvaturePairs::new(memory as usize, dim),
            stripes: VectorPasses::new(dim),
            evaluations,
            direction: vec![0.0; dim],
            trial: Point::new(vec![0.0; dim]),
            stepped: false,
        }
    }

    /// Rejects settings that can never work.
    pub(crate) fn check(memory: u32, evaluations: u32) -> Result<()> {
        require(memory > 0, "memory", "at least 1", memory)?;
        require(evaluations > 0, "evaluations_per_step", "at least 1", evaluations)
    }

    /// Goes from `at` to the point that was tried.
    pub(crate) fn accept(&mut self, at: &mut Point) {
        std::mem::swap(at, &mut self.trial);
        self.stepped = true;
    }

    /// Sets `direction` to the estimated inverse curvature at `at` times `gradient`, and returns their product.
    pub(crate) fn turn(&mut self, at: &Point, gradient: &[f64]) -> f64 {
        if std::mem::take(&mut self.stepped) {
            self.history.push([&self.trial, at], gradient);
        } else {
            self.history.multiply_all(gradient);
        }
        self.history.combine(gradient, &mut self.direction, &mut self.stripes)
    }
}

/// The last few steps and changes of gradient, from which L-BFGS guesses the curvature (Nocedal 1980).
///
/// The recursion runs on products of the remembered vectors, not on the vectors (Chen, Wang & Zhou 2014): one pass
/// takes all new products, one adds the vectors up. Vectors are stored in single precision, which halves what both
/// passes read; the products are those of the stored vectors, so the matrix is positive definite as ever.
/// One ring of memory, allocated once.
#[derive(Debug)]
pub(crate) struct CurvaturePairs {
    pairs: Vec<Pair>, // ring
    next: usize,
    len: usize,
    sy: Vec<f64>,            // [memory × memory] s_i · y_j, by place in the ring
    yy: Vec<f64>,            // [memory × memory] y_i · y_j
    stripes: Vec<f64>,       // [stripes × products] the products of each stripe
    products: Vec<Products>, // [memory] of the newest pair and of the vector to turn, with each pair
    of_s: Vec<f64>,          // [memory] by how much each s enters
    of_y: Vec<f64>,          // [memory] by how much each y enters
}

#[derive(Debug, Default)]
struct Pair {
    s: Vec<f32>, // w_{k+1} − w_k
    y: Vec<f32>, // ∇_{k+1} − ∇_k
}

/// Products with the s and the y of one pair.
#[derive(Debug, Clone, Copy, Default)]
struct Products {
    vs: f64, // the vector to turn · s
    vy: f64,
    ys: f64, // the newest y · s
    sy: f64, // the newest s · y
    yy: f64,
}

const PER_PAIR: usize = 5;
/// How many weights are handled at a time: what all pairs are multiplied with stays in a core's nearest cache.
const BLOCK: usize = 1 << 10;

impl CurvaturePairs {
    /// Room for `memory` pairs over `dim` weights.
    pub(crate) fn new(memory: usize, dim: usize) -> Self {
        let pair = || Pair { s: vec![0.0; dim], y: vec![0.0; dim] };
        CurvaturePairs {
            pairs: (0..memory).map(|_| pair()).collect(),
            next: 0,
            len: 0,
            sy: vec![0.0; memory * memory],
            yy: vec![0.0; memory * memory],
            stripes: vec![0.0; dim.div_ceil(STRIPE) * memory * PER_PAIR],
            products: vec![Products::default(); memory],
            of_s: vec![0.0; memory],
            of_y: vec![0.0; memory],
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Whether nothing is known yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The place in the ring of the pair that was remembered `k` steps before the newest.
    fn place(&self, k: usize) -> usize {
        let memory = self.pairs.len();
        (self.next + memory - 1 - k) % memory
    }

    /// Remembers a step, unless rounding or a concave stretch made its curvature useless, and takes all products
    /// that [`CurvaturePairs::combine`] needs to turn `v`.
    pub(crate) fn push(&mut self, [before, now]: [&Point; 2], v: &[f64]) {
        let (memory, slot) = (self.pairs.len(), self.next);
        let mut newest = std::mem::take(&mut self.pairs[slot]);
        let (pairs, per_stripe) = (&self.pairs, memory * PER_PAIR);
        let stripes = self.stripes.par_chunks_mut(per_stripe);
        let changes = newest.s.par_chunks_mut(STRIPE).zip(newest.y.par_chunks_mut(STRIPE));
        for_each(v.len(), changes.zip(stripes).enumerate(), |(n, ((s, y), sums))| {
            let range = n * STRIPE..n * STRIPE + s.len();
            dispatch(Differ { now: &now.w[range.clone()], before: &before.w[range.clone()], out: s });
            dispatch(Differ {
                now: &now.gradient[range.clone()],
                before: &before.gradient[range.clone()],
                out: y,
            });
            sums.fill(0.0);
            let (mut wide_s, mut wide_y) = ([0.0; BLOCK], [0.0; BLOCK]);
            for at in (0..s.len()).step_by(BLOCK) {
                let block = at..s.len().min(at + BLOCK);
                let (wide_s, wide_y) = (&mut wide_s[..block.len()], &mut wide_y[..block.len()]);
                dispatch(Widen { from: &s[block.clone()], to: wide_s });
                dispatch(Widen { from: &y[block.clone()], to: wide_y });
                let block = range.start + block.start..range.start + block.end;
                let v = &v[block.clone()];
                for (place, sums) in sums.as_chunks_mut::<PER_PAIR>().0.iter_mut().enumerate() {
                    let ([vs, ys], [vy, sy, yy]) = if place == slot {
                        (dots(&*wide_s, [v, wide_y]), dots(&*wide_y, [v, wide_s, wide_y]))
                    } else {
                        let Pair { s, y } = &pairs[place];
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
        // What stood in the slot is gone either way.
        self.len = self.len.min(memory - 1);
        if !(sy.is_finite() && yy.is_finite()) || sy <= 1e-14 * yy {
            return;
        }
        for (place, products) in self.products.iter().enumerate() {
            self.sy[slot * memory + place] = products.sy;
            self.sy[place * memory + slot] = products.ys;
            self.yy[slot * memory + place] = products.yy;
            self.yy[place * memory + slot] = products.yy;
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
        let stripes = self.stripes.par_chunks_mut(pairs.len() * PER_PAIR);
        for_each(v.len(), stripes.zip(v.par_chunks(STRIPE)).enumerate(), |(n, (sums, v))| {
            let range = n * STRIPE..n * STRIPE + v.len();
            for (pair, sums) in pairs.iter().zip(sums.as_chunks_mut::<PER_PAIR>().0) {
                let ([vs], [vy]) = (dots(&pair.s[range.clone()], [v]), dots(&pair.y[range.clone()], [v]));
                *sums = [vs, vy, 0.0, 0.0, 0.0];
            }
        });
        self.add_up();
    }

    /// Sums the products of all stripes, in order.
    fn add_up(&mut self) {
        self.products.fill(Products::default());
        for stripe in self.stripes.chunks_exact(self.pairs.len() * PER_PAIR) {
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

    /// Writes the estimated inverse curvature times `v` to `direction`, and returns their product (Nocedal & Wright
    /// 2006, algorithm 7.4, in coefficients of the remembered vectors).
    pub(crate) fn combine(&mut self, v: &[f64], direction: &mut [f32], stripes: &mut VectorPasses) -> f64 {
        let memory = self.pairs.len();
        self.of_s.fill(0.0);
        self.of_y.fill(0.0);
        // Until the middle, of_s holds the α of the algorithm, and of_y is −α.
        for k in 0..self.len {
            let i = self.place(k);
            let rest: f64 =
                (0..k).map(|j| self.place(j)).map(|j| self.of_y[j] * self.sy[i * memory + j]).sum();
            let alpha = (self.products[i].vs + rest) / self.sy[i * memory + i];
            (self.of_s[i], self.of_y[i]) = (alpha, -alpha);
        }
        let scale = match self.len {
            0 => 1.0,
            _ => {
                let i = self.place(0);
                self.sy[i * memory + i] / self.yy[i * memory + i]
            }
        };
        self.of_y.iter_mut().for_each(|of_y| *of_y *= scale);
        for k in (0..self.len).rev() {
            let i = self.place(k);
            let places = (0..self.len).map(|j| (j, self.place(j)));
            let rest = places.map(|(at, j)| {
                // The coefficients of s are final from the oldest pair up to this one.
                let of_s = if at > k { self.of_s[j] * self.sy[j * memory + i] } else { 0.0 };
                self.of_y[j] * self.yy[i * memory + j] + of_s
            });
            let product = scale * self.products[i].vy + rest.sum::<f64>();
            self.of_s[i] -= product / self.sy[i * memory + i];
        }
        let [product, ..] = stripes.update(direction, |start, direction| {
            let (mut sum, mut product) = ([0.0; BLOCK], 0.0);
            for (n, out) in direction.chunks_mut(BLOCK).enumerate() {
                let range = start + n * BLOCK..start + n * BLOCK + out.len();
                let (sum, v) = (&mut sum[..out.len()], &v[range.clone()]);
                sum.copy_from_slice(v);
                let mut factor = scale;
                for k in 0..self.len {
                    let i = self.place(k);
                    let (s, y) = (&self.pairs[i].s[range.clone()], &self.pairs[i].y[range.clone()]);
                    dispatch(Combine { sum, factor, of_s: self.of_s[i], s, of_y: self.of_y[i], y });
                    factor = 1.0;
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

/// `sum = factor · sum + of_s · s + of_y · y`.
struct Combine<'a> {
    sum: &'a mut [f64],
    factor: f64,
    of_s: f64,
    s: &'a [f32],
    of_y: f64,
    y: &'a [f32],
}

impl Kernel for Combine<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Combine { sum, factor, of_s, s, of_y, y } = self;
        for ((sum, &s), &y) in sum.iter_mut().zip(s).zip(y) {
            *sum = fma::<FMA>(of_s, s.into(), fma::<FMA>(of_y, y.into(), factor * *sum));
        }
    }
}
