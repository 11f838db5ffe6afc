use crf_core::Result;
use crf_learn::{Function, Point, Step};

/// Proximal quasi-Newton steps (Lee, Sun & Saunders 2014) for few weights under an ℓ1 penalty: from w with gradient g, the
/// weights are moved towards the minimum over z of
///
/// ```text
/// g·(z − w) + ½ (z − w)·B (z − w) + Σ_k λ_k |z_k|
/// ```
///
/// which coordinate descent finds (Friedman, Hastie & Tibshirani 2010, equation 5). B is the curvature that BFGS has learnt
/// from the steps so far (Nocedal & Wright 2006, equation 6.19): n² numbers, none of which is forgotten.
///
/// Candidates resemble each other, as nested thresholds do. OWL-QN then takes hundreds of iterations for twenty
/// weights, since it drops what its direction says of weights at zero; here they are part of the minimum.
pub(crate) struct Proximal {
    curvature: Vec<f64>, // [n × n] B
    scale: Option<f64>,  // B of what no step has been along; unknown before the first step
    slopes: Vec<f64>,    // [n] g + B (z − w)
    target: Vec<f64>,    // [n] z
    image: Vec<f64>,     // [n] B s
    trial: Point,
}

/// What share of its length the model's pseudo-gradient may keep: more exact minima of inexact models are of no use.
const FORCING: f64 = 0.1;
/// Passes over the weights after which the model's minimum counts as found.
const SWEEPS: u32 = 100;
/// How often a step is halved before the curvature is given up.
const HALVINGS: u32 = 30;

impl Proximal {
    /// Steps on `n` weights that know nothing yet.
    pub(crate) fn new(n: usize) -> Self {
        Proximal {
            curvature: vec![0.0; n * n],
            scale: None,
            slopes: vec![0.0; n],
            target: vec![0.0; n],
            image: vec![0.0; n],
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

    fn row(&self, k: usize) -> &[f64] {
        let n = self.target.len();
        &self.curvature[k * n..(k + 1) * n]
    }

    /// Makes B a multiple of the identity.
    fn flatten(&mut self, scale: f64) {
        let n = self.target.len();
        self.curvature.fill(0.0);
        (0..n).for_each(|k| self.curvature[k * n + k] = scale);
    }

    /// Finds the minimum of the model at `at`.
    fn model(&mut self, f: &dyn Function, at: &Point) {
        self.target.copy_from_slice(&at.w);
        self.slopes.copy_from_slice(&at.gradient);
        let enough = FORCING * at.gradient_norm;
        let mut among: Vec<usize> = Vec::new();
        for _ in 0..SWEEPS {
            // Weights that stay at zero are looked at again when the others have settled.
            let is_all = among.is_empty();
            if is_all {
                among.extend(0..at.w.len());
            }
            let mut left = 0.0;
            for &k in &among {
                let (b, l1, z) = (self.row(k)[k], f.l1().of(k), self.target[k]);
                let raw = b * z - self.slopes[k];
                let new = raw.signum() * (raw.abs() - l1).max(0.0) / b;
                let moved = new - z;
                if moved != 0.0 {
                    left += (b * moved).powi(2);
                    self.target[k] = new;
                    let n = self.target.len();
                    let row = &self.curvature[k * n..(k + 1) * n];
                    self.slopes.iter_mut().zip(row).for_each(|(slope, b)| *slope += moved * b);
                }
            }
            let settled = left.sqrt() <= enough;
            match (is_all, settled) {
                (true, true) => return,
                (false, true) => among.clear(),
                (true, false) => among.retain(|&k| self.target[k] != 0.0 || f.l1().of(k) == 0.0),
                (false, false) => {}
            }
        }
    }

    /// Goes towards the model's minimum until the function has fallen enough (Tseng & Yun 2009, equation 9); leaves the
    /// point in `trial`.
    fn search(&mut self, f: &mut dyn Function, at: &Point) -> Result<bool> {
        let l1 = f.l1();
        let pairs = at.w.iter().zip(&self.target).zip(&at.gradient).enumerate();
        let expected: f64 = pairs.map(|(k, ((w, z), g))| g * (z - w) + l1.of(k) * (z.abs() - w.abs())).sum();
        // What rounding has made of B may lead nowhere.
        if expected.is_nan() || expected >= 0.0 {
            return Ok(false);
        }
        let mut step = 1.0;
        for _ in 0..HALVINGS {
            let weights = self.trial.w.iter_mut().zip(&at.w).zip(&self.target);
            weights.for_each(|((trial, w), z)| *trial = if step == 1.0 { *z } else { w + step * (z - w) });
            f.evaluate(&mut self.trial)?;
            if self.trial.value.is_finite() && self.trial.value <= at.value + 1e-4 * step * expected {
                return Ok(true);
            }
            step *= 0.5;
        }
        Ok(false)
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
            let row = &self.curvature[k * n..(k + 1) * n];
            self.image.iter_mut().zip(row).for_each(|(image, b)| *image += s * b);
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

impl Step for Proximal {
    fn step(&mut self, f: &mut dyn Function, at: &mut Point) -> Result<bool> {
        loop {
            if self.scale.is_none() {
                // The first step is about as long as 1.
                self.flatten(at.gradient_norm);
            }
            self.model(f, at);
            if self.search(f, at)? {
                self.learn(at);
                std::mem::swap(at, &mut self.trial);
                return Ok(true);
            }
            if self.scale.take().is_none() {
                return Ok(false);
            }
        }
    }
}
