use crf_core::{Result, require};

use crate::optimizer::Point;
use crate::stripes::Stripes;

/// What the quasi-Newton optimizers keep between steps, allocated once.
#[derive(Debug)]
pub(crate) struct QuasiNewton {
    pub(crate) history: History,
    pub(crate) stripes: Stripes,
    /// How often a line search may evaluate the function.
    pub(crate) evaluations: u32,
    pub(crate) direction: Vec<f64>,
    /// The point that a line search is trying.
    pub(crate) trial: Point,
}

impl QuasiNewton {
    pub(crate) fn new(memory: u32, evaluations: u32, dim: usize) -> Self {
        QuasiNewton {
            history: History::new(memory as usize, dim),
            stripes: Stripes::new(dim),
            evaluations,
            direction: vec![0.0; dim],
            trial: Point { w: vec![0.0; dim], gradient: vec![0.0; dim], value: 0.0 },
        }
    }

    /// Rejects settings that can never work.
    pub(crate) fn check(memory: u32, evaluations: u32) -> Result<()> {
        require(memory > 0, "memory", "at least 1", memory)?;
        require(evaluations > 0, "evaluations_per_step", "at least 1", evaluations)
    }

    /// Goes from `at` to the point that was tried, and remembers the step.
    pub(crate) fn accept(&mut self, at: &mut Point) {
        let Point { w, gradient, .. } = &self.trial;
        self.history.push([w, &at.w], [gradient, &at.gradient], &mut self.stripes);
        std::mem::swap(at, &mut self.trial);
    }
}

/// The last few steps and changes of gradient, from which L-BFGS guesses the curvature (Nocedal 1980).
///
/// One ring of memory, allocated once.
#[derive(Debug)]
pub(crate) struct History {
    pairs: Vec<Pair>, // ring
    next: usize,
    len: usize,
    alpha: Vec<f64>,
}

#[derive(Debug, Clone)]
struct Pair {
    s: Vec<f64>, // w_{k+1} − w_k
    y: Vec<f64>, // ∇_{k+1} − ∇_k
    rho: f64,    // 1 / (s·y)
    scale: f64,  // s·y / y·y
}

impl History {
    /// Room for `memory` pairs over `dim` weights.
    pub(crate) fn new(memory: usize, dim: usize) -> Self {
        let pair = || Pair { s: vec![0.0; dim], y: vec![0.0; dim], rho: 0.0, scale: 0.0 };
        History { pairs: (0..memory).map(|_| pair()).collect(), next: 0, len: 0, alpha: vec![0.0; memory] }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Whether nothing is known yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Remembers a step, unless rounding or a concave stretch made its curvature useless.
    pub(crate) fn push(
        &mut self,
        [w, w_before]: [&[f64]; 2],
        [gradient, gradient_before]: [&[f64]; 2],
        stripes: &mut Stripes,
    ) {
        let [sy, yy, _] = stripes.sum(w.len(), |range| {
            let (mut sy, mut yy) = (0.0, 0.0);
            for k in range {
                let y = gradient[k] - gradient_before[k];
                sy += (w[k] - w_before[k]) * y;
                yy += y * y;
            }
            [sy, yy, 0.0]
        });
        if sy.is_nan() || sy <= 1e-14 * yy {
            return;
        }
        let pair = &mut self.pairs[self.next];
        (pair.rho, pair.scale) = (1.0 / sy, sy / yy);
        for (out, now, before) in [(&mut pair.s, w, w_before), (&mut pair.y, gradient, gradient_before)] {
            stripes.update(out, |start, out| {
                for (k, out) in (start..).zip(out) {
                    *out = now[k] - before[k];
                }
                [0.0; 3]
            });
        }
        self.next = (self.next + 1) % self.pairs.len();
        self.len = (self.len + 1).min(self.alpha.len());
    }

    /// Turns a gradient into minus the quasi-Newton direction, in place (Nocedal & Wright 2006, algorithm 7.4), and
    /// returns its product with `gradient`.
    ///
    /// Each pass over the vectors adds one of them and takes the product with the next.
    pub(crate) fn multiply(&mut self, direction: &mut [f64], gradient: &[f64], stripes: &mut Stripes) -> f64 {
        let n = self.pairs.len();
        let nth = |k: usize| &self.pairs[(self.next + n - 1 - k) % n]; // the newest is 0
        let last = match self.len {
            0 => return stripes.dot(direction, gradient),
            len => len - 1,
        };
        let mut product = stripes.dot(&nth(0).s, direction);
        for k in 0..=last {
            self.alpha[k] = nth(k).rho * product;
            let with = if k < last { &nth(k + 1).s } else { &nth(last).y };
            product = stripes.add_then_dot(direction, -self.alpha[k], &nth(k).y, with);
        }
        // The scaling of the middle is left to the coefficients, and done with the last pass.
        let scale = nth(0).scale;
        for k in (0..=last).rev() {
            let beta = nth(k).rho * product;
            let factor = self.alpha[k] / scale - beta;
            let with = if k > 0 { &nth(k - 1).y } else { gradient };
            product = stripes.add_then_dot(direction, factor, &nth(k).s, with);
        }
        stripes.update(direction, |_, direction| {
            direction.iter_mut().for_each(|d| *d *= scale);
            [0.0; 3]
        });
        scale * product
    }
}
