use crf_core::Result;
use crf_learn::{CostFunction, OptimizerState, PenaltyFactor, Point, pseudo_gradient};

/// Proximal quasi-Newton method with a dense curvature matrix, for few weights under an ℓ1 penalty
/// (Lee, Sun & Saunders 2014).
///
/// From w with gradient g, the weights are moved towards the minimum over z of the quadratic model
///
/// ```text
/// g·(z − w) + ½ (z − w)·B (z − w) + Σ_k λ_k |z_k|
/// ```
///
/// which coordinate descent (Friedman, Hastie & Tibshirani 2010, equation 5) and Newton's steps
/// among the weights that are not zero find together. B is the curvature that BFGS has learnt from
/// all steps so far (Nocedal & Wright 2006, equation 6.19): n² numbers.
///
/// The norm of the pseudo-gradient over [`MAX_STEP`] is added to the diagonal of B, as regularised
/// Newton methods do (Li, Fukushima, Qi & Yamashita 2004). The term vanishes at a minimum.
/// Elsewhere it keeps weights from running away along directions in which the function is flat,
/// such as those of features that fire on true labels only: these have no best weight.
///
/// All of this happens in the units of the features: weights are multiplied by them, slopes and
/// penalties divided. So the steps are the same for a length in metres and in millimetres, and a
/// direction without a step yet is as curved as the others.
///
/// Candidates resemble each other, as nested thresholds do. OWL-QN takes many iterations for few
/// weights of that kind, since its direction omits the weights at zero; here they are part of the
/// model's minimum.
pub(crate) struct ProximalNewton {
    units: Vec<f64>,     // [n] of the features
    penalty: Vec<f64>,   // [n] λ_k in units
    curvature: Vec<f64>, // [n × n] B, in units as all that follows
    scale: Option<f64>,  // curvature along directions without a step yet; unknown before the first step
    diagonal: Vec<f64>,  // [n] that of B, while the regularised one is in its place
    slopes: Vec<f64>,    // [n] g + B (z − w)
    target: Vec<f64>,    // [n] z
    image: Vec<f64>,     // [n] B s
    free: Vec<usize>,    // weights that are not zero
    factor: Vec<f64>,    // [free × free] upper triangle of their part of B, factorised
    newton: Vec<f64>,    // [free] Newton's step
    trial: Point,
}

/// Tolerance of the model's minimum, as a share of the norm of the pseudo-gradient: more exact
/// minima of inexact models are of no use.
const FORCING: f64 = 0.01;
/// Maximum length of a step of the model.
const MAX_STEP: f64 = 10.0;
/// Maximum number of coordinate-descent sweeps for one model.
const MAX_SWEEPS: u32 = 30;
/// Maximum number of Newton's steps between two sweeps; each but the last ends where a weight
/// reaches zero.
const MAX_NEWTON_STEPS: u32 = 10;
/// Maximum number of non-zero weights for Newton's steps; more are left to coordinate descent. A
/// factorisation takes the third power of their number, which would then cost more than passes over
/// the data.
const MAX_FREE: usize = 500;
/// Minimum of a pivot, as a share of its diagonal entry; a smaller one is rounding.
const MIN_PIVOT: f64 = 1e-12;
/// Maximum number of halvings of a step before the curvature is discarded.
const MAX_HALVINGS: u32 = 30;
/// Relative difference of two values, or of two slopes, that may be rounding.
const ROUNDING: f64 = 1e-13;

impl ProximalNewton {
    /// Creates the optimizer of the weights of features with these units, without curvature.
    pub(crate) fn new(units: Vec<f64>) -> Self {
        let n = units.len();
        ProximalNewton {
            units,
            penalty: vec![0.0; n],
            curvature: vec![0.0; n * n],
            scale: None,
            diagonal: vec![0.0; n],
            slopes: vec![0.0; n],
            target: vec![0.0; n],
            image: vec![0.0; n],
            free: Vec::new(),
            factor: Vec::new(),
            newton: Vec::new(),
            trial: Point::new(vec![0.0; n]),
        }
    }

    /// Copies the curvature of features shared by `from`, those of `self`, and `to`, those of the
    /// result, which have these `units`; both ascending.
    pub(crate) fn carry_over(&self, from: &[usize], to: &[usize], units: Vec<f64>) -> Self {
        let mut carried = ProximalNewton::new(units);
        carried.scale = self.scale;
        let sources: Vec<Option<usize>> = to.iter().map(|k| from.binary_search(k).ok()).collect();
        for (i, row) in carried.curvature.chunks_exact_mut(to.len().max(1)).enumerate() {
            row[i] = self.scale.unwrap_or(0.0);
            let Some(source) = sources[i] else { continue };
            for (b, column) in row.iter_mut().zip(&sources) {
                if let Some(column) = column {
                    *b = self.curvature[source * from.len() + column];
                }
            }
        }
        carried
    }

    /// Resets B to a multiple of the identity.
    fn reset(&mut self, scale: f64) {
        let n = self.target.len();
        self.curvature.fill(0.0);
        (0..n).for_each(|k| self.curvature[k * n + k] = scale);
    }

    /// Takes over the penalty and the point from which the next step begins; returns the norm of
    /// the pseudo-gradient there.
    fn begin(&mut self, l1: PenaltyFactor<'_>, at: &Point) -> f64 {
        for (k, &unit) in self.units.iter().enumerate() {
            self.penalty[k] = l1.of(k) / unit;
            self.target[k] = at.w[k] * unit;
            self.slopes[k] = at.gradient[k] / unit;
        }
        self.residual()
    }

    /// Minimises the model at the point of [`ProximalNewton::begin`], whose pseudo-gradient has
    /// this norm, with the regularised B; the minimum is in `target`.
    fn minimise_regularised(&mut self, norm: f64) {
        let n = self.target.len();
        for k in 0..n {
            self.diagonal[k] = self.curvature[k * n + k];
            self.curvature[k * n + k] += norm / MAX_STEP;
        }
        self.minimise(FORCING * norm);
        (0..n).for_each(|k| self.curvature[k * n + k] = self.diagonal[k]);
    }

    /// Minimises the model until its pseudo-gradient has a norm of `enough`: coordinate descent
    /// decides which weights are zero, Newton's steps find the others.
    ///
    /// Coordinate descent alone creeps along directions that are flat beside others, as features
    /// that resemble each other have them.
    fn minimise(&mut self, enough: f64) {
        for _ in 0..MAX_SWEEPS {
            self.sweep();
            if self.residual() <= enough {
                return;
            }
            // A step ends where a weight reaches zero; the next one goes on without it.
            for _ in 0..MAX_NEWTON_STEPS {
                if self.newton_step() {
                    break;
                }
            }
            if self.residual() <= enough {
                return;
            }
        }
    }

    /// Norm of the model's pseudo-gradient at `target`.
    fn residual(&self) -> f64 {
        let slopes = self.target.iter().zip(&self.slopes).zip(&self.penalty);
        slopes.map(|((&z, &slope), &l1)| pseudo_gradient(z, slope, l1).powi(2)).sum::<f64>().sqrt()
    }

    /// Norm of the pseudo-gradient at a point.
    fn norm(&self, point: &Point) -> f64 {
        let slopes = point.w.iter().zip(&point.gradient).zip(self.units.iter().zip(&self.penalty));
        let square = |((&w, &slope), (&unit, &l1)): ((&f64, &f64), (&f64, &f64))| {
            pseudo_gradient(w, slope / unit, l1).powi(2)
        };
        slopes.map(square).sum::<f64>().sqrt()
    }

    /// Coordinate descent: minimises the model in one weight after the other.
    fn sweep(&mut self) {
        let n = self.target.len();
        for (k, row) in self.curvature.chunks_exact(n.max(1)).enumerate() {
            let (b, z) = (row[k], self.target[k]);
            let raw = b * z - self.slopes[k];
            let new = raw.signum() * (raw.abs() - self.penalty[k]).max(0.0) / b;
            if new != z {
                self.target[k] = new;
                add(&mut self.slopes, new - z, row);
            }
        }
    }

    /// Newton's step among the non-zero weights, as far as none changes its sign. True if it was a
    /// whole step.
    fn newton_step(&mut self) -> bool {
        let n = self.target.len();
        self.free.clear();
        self.free.extend((0..n).filter(|&k| self.target[k] != 0.0 || self.penalty[k] == 0.0));
        if self.free.len() > MAX_FREE {
            return true;
        }
        let rows = self.free.iter().map(|&k| &self.curvature[k * n..(k + 1) * n]);
        self.factor.clear();
        rows.for_each(|row| self.factor.extend(self.free.iter().map(|&j| row[j])));
        let descent = |&k: &usize| -pseudo_gradient(self.target[k], self.slopes[k], self.penalty[k]);
        self.newton.clear();
        self.newton.extend(self.free.iter().map(descent));
        solve(&mut self.factor, &mut self.newton);
        // The first weight that would change its sign ends the step, and is set to zero.
        let penalised = self.free.iter().zip(&self.newton).filter(|(k, _)| self.penalty[**k] > 0.0);
        let ends = penalised.map(|(&k, step)| (-self.target[k] / step, k));
        let end = ends.filter(|(end, _)| (0.0..1.0).contains(end)).min_by(|a, b| a.0.total_cmp(&b.0));
        let step = end.map_or(1.0, |(end, _)| end);
        for (&k, newton) in self.free.iter().zip(&self.newton) {
            let is_end = end.is_some_and(|(_, last)| last == k);
            let new = if is_end { 0.0 } else { self.target[k] + step * newton };
            add(&mut self.slopes, new - self.target[k], &self.curvature[k * n..(k + 1) * n]);
            self.target[k] = new;
        }
        end.is_none()
    }

    /// Line search towards the model's minimum for a sufficient decrease (Tseng & Yun 2009,
    /// equation 9), from a point whose pseudo-gradient has this norm; the point is in `trial`.
    fn search(&mut self, f: &mut dyn CostFunction, at: &Point, norm: f64) -> Result<SearchEnd> {
        self.target.iter_mut().zip(&self.units).for_each(|(z, unit)| *z /= unit);
        let l1 = f.l1();
        let pairs = at.w.iter().zip(&self.target).zip(&at.gradient).enumerate();
        let expected: f64 = pairs.map(|(k, ((w, z), g))| g * (z - w) + l1.of(k) * (z.abs() - w.abs())).sum();
        // Rounding errors in B can make the direction useless.
        if expected.is_nan() || expected >= 0.0 {
            return Ok(SearchEnd::NoDecrease);
        }
        let rounding = ROUNDING * at.value.abs();
        let mut step = 1.0;
        for _ in 0..MAX_HALVINGS {
            let weights = self.trial.w.iter_mut().zip(&at.w).zip(&self.target);
            weights.for_each(|((trial, w), z)| *trial = if step == 1.0 { *z } else { w + step * (z - w) });
            f.evaluate(&mut self.trial)?;
            if self.trial.value.is_finite() && self.trial.value <= at.value + 1e-4 * step * expected {
                return Ok(SearchEnd::Step);
            }
            // Where values differ by rounding only, the gradient decides whether it was progress.
            if -step * expected <= rounding {
                let is_progress = self.norm(&self.trial) < norm;
                let is_step = is_progress && self.trial.value <= at.value + rounding;
                return Ok(if is_step { SearchEnd::Step } else { SearchEnd::Converged });
            }
            step *= 0.5;
        }
        Ok(SearchEnd::NoDecrease)
    }

    /// BFGS update of B for the step from `at` to `trial`, unless its curvature is no more than the
    /// rounding of the slopes.
    fn update(&mut self, at: &Point) {
        let n = at.w.len();
        let steps = self.trial.w.iter().zip(&at.w).zip(&self.units);
        let s: Vec<f64> = steps.map(|((now, before), unit)| (now - before) * unit).collect();
        let changes = self.trial.gradient.iter().zip(&at.gradient).zip(&self.units);
        let y: Vec<f64> = changes.clone().map(|((now, before), unit)| (now - before) / unit).collect();
        let sizes = changes.map(|((now, before), unit)| (now.abs() + before.abs()) / unit);
        let rounding = ROUNDING * s.iter().zip(sizes).map(|(s, size)| s.abs() * size).sum::<f64>();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (sy, yy) = (dot(&s, &y), dot(&y, &y));
        if !(sy.is_finite() && yy.is_finite()) || sy <= rounding {
            return;
        }
        if self.scale.is_none() {
            self.reset(yy / sy);
        }
        self.scale = Some(yy / sy);
        self.image.fill(0.0);
        for (k, &s) in s.iter().enumerate().filter(|(_, s)| **s != 0.0) {
            add(&mut self.image, s, &self.curvature[k * n..(k + 1) * n]);
        }
        let sbs = dot(&s, &self.image);
        if !sbs.is_normal() || sbs < 0.0 {
            return;
        }
        for (k, row) in self.curvature.chunks_exact_mut(n).enumerate() {
            let y_factor = y[k] / sy;
            let image_factor = self.image[k] / sbs;
            let vectors = y.iter().zip(&self.image);
            row.iter_mut().zip(vectors).for_each(|(b, (y, image))| *b += y_factor * y - image_factor * image);
        }
    }
}

/// Outcome of a line search.
enum SearchEnd {
    /// A step with a sufficient decrease.
    Step,
    /// No step: the expected decrease is below rounding.
    Converged,
    /// No step, although the curvature promised a decrease.
    NoDecrease,
}

/// Solves A x = b by Cholesky's factorisation: x replaces b, and the factor the upper triangle of
/// A, the only part that is read.
///
/// Where a pivot is no more than rounding, x is zero.
fn solve(a: &mut [f64], b: &mut [f64]) {
    let n = b.len();
    let least: Vec<f64> = (0..n).map(|k| MIN_PIVOT * a[k * n + k]).collect();
    for k in 0..n {
        let (above, below) = a.split_at_mut((k + 1) * n);
        let row = &mut above[k * n..];
        let scale = if row[k] > least[k] && row[k].is_normal() { row[k].sqrt().recip() } else { 0.0 };
        row[k..].iter_mut().for_each(|x| *x *= scale);
        b[k] *= scale;
        for (i, other) in (k + 1..n).zip(below.chunks_exact_mut(n)) {
            let factor = row[i];
            add(&mut other[i..], -factor, &row[i..]);
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        let row = &a[k * n..(k + 1) * n];
        let rest: f64 = row[k + 1..].iter().zip(&b[k + 1..]).map(|(a, x)| a * x).sum();
        b[k] = if row[k] == 0.0 { 0.0 } else { (b[k] - rest) / row[k] };
    }
}

/// Adds `factor` times a vector.
fn add(to: &mut [f64], factor: f64, vector: &[f64]) {
    to.iter_mut().zip(vector).for_each(|(to, x)| *to += factor * x);
}

impl OptimizerState for ProximalNewton {
    fn step(&mut self, f: &mut dyn CostFunction, at: &mut Point) -> Result<bool> {
        loop {
            let norm = self.begin(f.l1(), at);
            if self.scale.is_none() {
                // The first step has a length of about 1.
                self.reset(norm);
            }
            self.minimise_regularised(norm);
            match self.search(f, at, norm)? {
                SearchEnd::Step => {
                    self.update(at);
                    std::mem::swap(at, &mut self.trial);
                    return Ok(true);
                }
                SearchEnd::NoDecrease if self.scale.take().is_some() => {}
                SearchEnd::NoDecrease | SearchEnd::Converged => return Ok(false),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crf_testing::cases;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn a_solution_solves(n in 1..8_usize, entries in proptest::collection::vec(-1.0..1.0_f64, 64), x in proptest::collection::vec(-3.0..3.0_f64, 8)) {
            // A = M Mᵀ + 1/10 is positive definite.
            let m = |i: usize, j: usize| entries[i * 8 + j];
            let of = |i: usize, j: usize| (0..n).map(|k| m(i, k) * m(j, k)).sum::<f64>() + f64::from(u8::from(i == j)) / 10.0;
            let mut a: Vec<f64> = (0..n * n).map(|at| of(at / n, at % n)).collect();
            let mut b: Vec<f64> = (0..n).map(|i| (0..n).map(|j| of(i, j) * x[j]).sum()).collect();
            solve(&mut a, &mut b);
            for (got, want) in b.iter().zip(&x) {
                prop_assert!((got - want).abs() < 1e-8, "{got} vs {want}");
            }
        }

        // Along features that fire on true labels only nothing is curved, and steps of the model
        // would have no end.
        #[test]
        fn no_step_is_longer_than_the_farthest(
            n in 1..6_usize, digits in -12..1_i32, row in proptest::collection::vec(-1.0..1.0_f64, 6),
            w in proptest::collection::vec(prop_oneof![Just(0.0), -2.0..2.0], 6), slopes in proptest::collection::vec(-9.0..9.0_f64, 6), l1 in prop_oneof![Just(0.0), 0.1..3.0],
        ) {
            let (mut steps, mut at, l1) = (ProximalNewton::new(vec![1.0; n]), Point::new(w[..n].to_vec()), PenaltyFactor { of_all: l1, spared: &[] });
            // Curved in one direction only, and hardly there.
            (0..n * n).for_each(|k| steps.curvature[k] = 10_f64.powi(digits) * row[k / n] * row[k % n]);
            at.gradient.copy_from_slice(&slopes[..n]);
            let norm = steps.begin(l1, &at);
            steps.minimise_regularised(norm);
            let length = steps.target.iter().zip(&at.w).map(|(z, w)| (z - w).powi(2)).sum::<f64>().sqrt();
            prop_assert!(length <= (1.0 + FORCING) * MAX_STEP, "{length}");
        }
    }

    #[test]
    fn a_direction_that_is_flat_is_not_taken() {
        let (mut a, mut b) = (vec![4.0, 4.0, 4.0, 4.0], vec![8.0, 8.0]);
        solve(&mut a, &mut b);
        assert_eq!(b, [2.0, 0.0]);
    }
}
