/// The last few steps and changes of gradient, from which L-BFGS guesses the curvature (Nocedal 1980).
///
/// One ring of memory, allocated once.
#[derive(Debug)]
pub(crate) struct History {
    steps: Vec<Pair>, // ring
    next: usize,
    len: usize,
    alpha: Vec<f64>,
}

#[derive(Debug, Clone)]
struct Pair {
    s: Vec<f64>, // w_{k+1} − w_k
    y: Vec<f64>, // ∇_{k+1} − ∇_k
    rho: f64,    // 1 / (s·y)
}

impl History {
    /// Room for `memory` pairs over `dim` weights.
    pub(crate) fn new(memory: usize, dim: usize) -> Self {
        let pair = Pair { s: vec![0.0; dim], y: vec![0.0; dim], rho: 0.0 };
        History { steps: vec![pair; memory], next: 0, len: 0, alpha: vec![0.0; memory] }
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
    pub(crate) fn push(&mut self, w: &[f64], w_before: &[f64], gradient: &[f64], gradient_before: &[f64]) {
        let (mut sy, mut yy) = (0.0, 0.0);
        for k in 0..w.len() {
            let change = gradient[k] - gradient_before[k];
            sy += (w[k] - w_before[k]) * change;
            yy += change * change;
        }
        if sy.is_nan() || sy <= 1e-14 * yy {
            return;
        }
        let Pair { s, y, rho } = &mut self.steps[self.next];
        for k in 0..w.len() {
            s[k] = w[k] - w_before[k];
            y[k] = gradient[k] - gradient_before[k];
        }
        *rho = 1.0 / sy;
        self.next = (self.next + 1) % self.steps.len();
        self.len = (self.len + 1).min(self.steps.len());
    }

    /// Turns a gradient into minus the quasi-Newton direction, in place (Nocedal & Wright 2006, algorithm 7.4).
    pub(crate) fn multiply(&mut self, direction: &mut [f64]) {
        let memory = self.steps.len();
        let newest_first = |k: usize| (self.next + memory - 1 - k) % memory;
        for k in 0..self.len {
            let Pair { s, y, rho } = &self.steps[newest_first(k)];
            self.alpha[k] = rho * dot(s, direction);
            add(direction, -self.alpha[k], y);
        }
        if self.len > 0 {
            let Pair { y, rho, .. } = &self.steps[newest_first(0)];
            let scale = 1.0 / (rho * dot(y, y));
            direction.iter_mut().for_each(|d| *d *= scale);
        }
        for k in (0..self.len).rev() {
            let Pair { s, y, rho } = &self.steps[newest_first(k)];
            let beta = rho * dot(y, direction);
            add(direction, self.alpha[k] - beta, s);
        }
    }
}

/// Σ a_k b_k in eight running sums, so that it vectorises and always rounds the same way.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a_parts, b_parts) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a_parts.remainder().iter().zip(b_parts.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_parts.zip(b_parts) {
        for k in 0..8 {
            sums[k] += a[k] * b[k];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// `to += factor · from`.
fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}
