use crf_core::Result;
use crf_learn::{CostFunction, OptimizerState, PenaltyFactor, Point, pseudo_gradient};

/// Proximal quasi-Newton steps (Lee, Sun & Saunders 2014) for few weights under an ℓ1 penalty: from w with gradient g, the
/// weights are moved towards the minimum over z of
///
/// ```text
/// g·(z − w) + ½ (z − w)·B (z − w) + Σ_k λ_k |z_k|
/// ```
///
/// which coordinate descent (Friedman, Hastie & Tibshirani 2010, equation 5) and Newton's steps among the weights that are not zero
/// find together. B is the curvature that BFGS has learnt
/// from the steps so far (Nocedal & Wright 2006, equation 6.19): n² numbers, none of which is forgotten. To its diagonal the
/// length of the pseudo-gradient over [`FARTHEST`] is added, as regularised Newton methods do (Li, Fukushima, Qi & Yamashita
/// 2004): nothing to speak of near a minimum, and elsewhere what keeps weights from running away along directions in which
/// the function is flat, as it is along features that fire on true labels only.
///
/// Candidates resemble each other, as nested thresholds do. OWL-QN then takes hundreds of iterations for twenty
/// weights, since it drops what its direction says of weights at zero; here they are part of the minimum.
pub(crate) struct Proximal {
    curvature: Vec<f64>, // [n × n] B
    scale: Option<f64>,  // B of what no step has been along; unknown before the first step
    diagonal: Vec<f64>,  // [n] that of B while more stands there
    slopes: Vec<f64>,    // [n] g + B (z − w)
    target: Vec<f64>,    // [n] z
    image: Vec<f64>,     // [n] B s
    free: Vec<usize>,    // weights that are not zero
    factor: Vec<f64>,    // [free × free] the upper triangle of their part of B, factorised
    newton: Vec<f64>,    // [free] where the minimum is from here
    trial: Point,
}

/// What share of its length the pseudo-gradient keeps at what counts as the model's minimum: more exact minima of inexact
/// models are of no use.
const FORCING: f64 = 0.01;
/// How long a step of the model is at most.
const FARTHEST: f64 = 10.0;
/// How often the model is looked at weight by weight before its minimum counts as found.
const SWEEPS: u32 = 30;
/// How many weights that are not zero may come to zero one by one before all are looked at again.
const ENDS: u32 = 10;
/// Beyond so many weights that are not zero their common minimum is left to coordinate descent: a factorisation, which takes
/// the third power of their number, would cost more than passes over the data.
const MOST_FREE: usize = 500;
/// What share of a pivot rounding may leave of it.
const SMALLEST_PIVOT: f64 = 1e-12;
/// How often a step is halved before the curvature is given up.
const HALVINGS: u32 = 30;
/// The relative difference of two values that may be rounding.
const ROUNDING: f64 = 1e-13;

impl Proximal {
    /// Steps on `n` weights that know nothing yet.
    pub(crate) fn new(n: usize) -> Self {
        Proximal {
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

    /// Steps on the features `to` with what is known of those `from`, both ascending.
    pub(crate) fn carried(&self, from: &[usize], to: &[usize]) -> Self {
        let mut carried = Proximal::new(to.len());
        carried.scale = self.scale;
        let places: Vec<Option<usize>> = to.iter().map(|k| from.binary_search(k).ok()).collect();
        for (i, row) in carried.curvature.chunks_exact_mut(to.len().max(1)).enumerate() {
            row[i] = self.scale.unwrap_or(0.0);
            let Some(known) = places[i] else { continue };
            for (b, place) in row.iter_mut().zip(&places) {
                if let Some(place) = place {
                    *b = self.curvature[known * from.len() + place];
                }
            }
        }
        carried
    }

    /// Makes B a multiple of the identity.
    fn flatten(&mut self, scale: f64) {
        let n = self.target.len();
        self.curvature.fill(0.0);
        (0..n).for_each(|k| self.curvature[k * n + k] = scale);
    }

    /// Finds the minimum of the model at `at` with a regularised B.
    fn model(&mut self, l1: PenaltyFactor<'_>, at: &Point) {
        let n = self.target.len();
        for k in 0..n {
            self.diagonal[k] = self.curvature[k * n + k];
            self.curvature[k * n + k] += at.gradient_norm / FARTHEST;
        }
        self.minimise(l1, at);
        (0..n).for_each(|k| self.curvature[k * n + k] = self.diagonal[k]);
    }

    /// Finds the minimum of the model at `at`: coordinate descent says which weights are zero, Newton's steps what the others
    /// are. By itself coordinate descent creeps along directions that are flat beside others, as features have them
    /// that resemble each other.
    fn minimise(&mut self, l1: PenaltyFactor<'_>, at: &Point) {
        self.target.copy_from_slice(&at.w);
        self.slopes.copy_from_slice(&at.gradient);
        let enough = FORCING * at.gradient_norm;
        for _ in 0..SWEEPS {
            self.sweep(l1);
            if self.left(l1) <= enough {
                return;
            }
            // Where a weight comes to zero the way ends, and goes on without it.
            for _ in 0..ENDS {
                if self.go_on(l1) {
                    break;
                }
            }
            if self.left(l1) <= enough {
                return;
            }
        }
    }

    /// The length of the model's pseudo-gradient.
    fn left(&self, l1: PenaltyFactor<'_>) -> f64 {
        let slopes = self.target.iter().zip(&self.slopes).enumerate();
        slopes.map(|(k, (&z, &slope))| pseudo_gradient(z, slope, l1.of(k)).powi(2)).sum::<f64>().sqrt()
    }

    /// Moves every weight to where the model is lowest, the others staying what they are.
    fn sweep(&mut self, l1: PenaltyFactor<'_>) {
        let n = self.target.len();
        for (k, row) in self.curvature.chunks_exact(n.max(1)).enumerate() {
            let (b, z) = (row[k], self.target[k]);
            let raw = b * z - self.slopes[k];
            let new = raw.signum() * (raw.abs() - l1.of(k)).max(0.0) / b;
            if new != z {
                self.target[k] = new;
                add(&mut self.slopes, new - z, row);
            }
        }
    }

    /// Moves the weights that are not zero to the model's minimum among those of their signs, or as far as none comes to
    /// zero; says whether none did.
    fn go_on(&mut self, l1: PenaltyFactor<'_>) -> bool {
        let n = self.target.len();
        self.free.clear();
        self.free.extend((0..n).filter(|&k| self.target[k] != 0.0 || l1.of(k) == 0.0));
        if self.free.len() > MOST_FREE {
            return true;
        }
        let rows = self.free.iter().map(|&k| &self.curvature[k * n..(k + 1) * n]);
        self.factor.clear();
        rows.for_each(|row| self.factor.extend(self.free.iter().map(|&j| row[j])));
        let down = |&k: &usize| -pseudo_gradient(self.target[k], self.slopes[k], l1.of(k));
        self.newton.clear();
        self.newton.extend(self.free.iter().map(down));
        solve(&mut self.factor, &mut self.newton);
        // The first weight that would change its sign.
        let penalised = self.free.iter().zip(&self.newton).filter(|(k, _)| l1.of(**k) > 0.0);
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

    /// Goes towards the model's minimum until the function has fallen enough (Tseng & Yun 2009, equation 9); leaves the
    /// point in `trial`.
    fn search(&mut self, f: &mut dyn CostFunction, at: &Point) -> Result<Found> {
        let l1 = f.l1();
        let pairs = at.w.iter().zip(&self.target).zip(&at.gradient).enumerate();
        let expected: f64 = pairs.map(|(k, ((w, z), g))| g * (z - w) + l1.of(k) * (z.abs() - w.abs())).sum();
        // What rounding has made of B may lead nowhere.
        if expected.is_nan() || expected >= 0.0 {
            return Ok(Found::Nothing);
        }
        let rounding = ROUNDING * at.value.abs();
        let mut step = 1.0;
        for _ in 0..HALVINGS {
            let weights = self.trial.w.iter_mut().zip(&at.w).zip(&self.target);
            weights.for_each(|((trial, w), z)| *trial = if step == 1.0 { *z } else { w + step * (z - w) });
            f.evaluate(&mut self.trial)?;
            if self.trial.value.is_finite() && self.trial.value <= at.value + 1e-4 * step * expected {
                return Ok(Found::Step);
            }
            // Where values differ by rounding only, slopes say whether it was a step forward.
            if -step * expected <= rounding {
                let is_forward = self.trial.gradient_norm < at.gradient_norm;
                let is_step = is_forward && self.trial.value <= at.value + rounding;
                return Ok(if is_step { Found::Step } else { Found::End });
            }
            step *= 0.5;
        }
        Ok(Found::Nothing)
    }

    /// Learns from the step that led from `at` to `trial`.
    fn learn(&mut self, at: &Point) {
        let n = at.w.len();
        let s: Vec<f64> = self.trial.w.iter().zip(&at.w).map(|(now, before)| now - before).collect();
        let y: Vec<f64> =
            self.trial.gradient.iter().zip(&at.gradient).map(|(now, before)| now - before).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (sy, yy) = (dot(&s, &y), dot(&y, &y));
        if !(sy.is_finite() && yy.is_finite()) || sy <= 1e-14 * yy {
            return;
        }
        if self.scale.is_none() {
            self.flatten(yy / sy);
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
            let (of_y, of_image) = (y[k] / sy, self.image[k] / sbs);
            let vectors = y.iter().zip(&self.image);
            row.iter_mut().zip(vectors).for_each(|(b, (y, image))| *b += of_y * y - of_image * image);
        }
    }
}

/// What a search came to.
enum Found {
    /// A step that goes down.
    Step,
    /// All that is left to gain is less than values are rounded by.
    End,
    /// None, though the curvature promised one.
    Nothing,
}

/// Solves A x = b in place of b, by Cholesky's factorisation in place of A, of which the upper triangle is read. Where
/// rounding has left nothing of a pivot, x stays zero.
fn solve(a: &mut [f64], b: &mut [f64]) {
    let n = b.len();
    let least: Vec<f64> = (0..n).map(|k| SMALLEST_PIVOT * a[k * n + k]).collect();
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

/// Adds a multiple of a vector.
fn add(to: &mut [f64], factor: f64, vector: &[f64]) {
    to.iter_mut().zip(vector).for_each(|(to, x)| *to += factor * x);
}

impl OptimizerState for Proximal {
    fn step(&mut self, f: &mut dyn CostFunction, at: &mut Point) -> Result<bool> {
        loop {
            if self.scale.is_none() {
                // The first step is about as long as 1.
                self.flatten(at.gradient_norm);
            }
            self.model(f.l1(), at);
            match self.search(f, at)? {
                Found::Step => {
                    self.learn(at);
                    std::mem::swap(at, &mut self.trial);
                    return Ok(true);
                }
                Found::Nothing if self.scale.take().is_some() => {}
                Found::Nothing | Found::End => return Ok(false),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
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

        // Along features that fire on true labels only nothing is curved, and steps of the model would have no end.
        #[test]
        fn no_step_is_longer_than_the_farthest(
            n in 1..6_usize, digits in -12..1_i32, row in proptest::collection::vec(-1.0..1.0_f64, 6),
            w in proptest::collection::vec(prop_oneof![Just(0.0), -2.0..2.0], 6), slopes in proptest::collection::vec(-9.0..9.0_f64, 6), l1 in prop_oneof![Just(0.0), 0.1..3.0],
        ) {
            let (mut steps, mut at, l1) = (Proximal::new(n), Point::new(w[..n].to_vec()), PenaltyFactor { of_all: l1, spared: &[] });
            // Curved in one direction only, and hardly there.
            (0..n * n).for_each(|k| steps.curvature[k] = 10_f64.powi(digits) * row[k / n] * row[k % n]);
            at.gradient.copy_from_slice(&slopes[..n]);
            at.gradient_norm = (0..n).map(|k| pseudo_gradient(w[k], slopes[k], l1.of(k)).powi(2)).sum::<f64>().sqrt();
            steps.model(l1, &at);
            let length = steps.target.iter().zip(&at.w).map(|(z, w)| (z - w).powi(2)).sum::<f64>().sqrt();
            prop_assert!(length <= (1.0 + FORCING) * FARTHEST, "{length}");
        }
    }

    #[test]
    fn a_direction_that_is_flat_is_not_taken() {
        let (mut a, mut b) = (vec![4.0, 4.0, 4.0, 4.0], vec![8.0, 8.0]);
        solve(&mut a, &mut b);
        assert_eq!(b, [2.0, 0.0]);
    }
}
