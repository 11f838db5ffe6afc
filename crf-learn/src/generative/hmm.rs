pub(crate) mod model;

use std::sync::Arc;

use crf_core::{
    EncodedDataset, Error, FeatureMap, Fit, FitContext, Label, Learner, Problem, Result, Stop, Trace, require,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::generative::hmm::model::HmmModel;
use crate::training::usable_model::require_usable;

/// A hidden Markov model with naive-Bayes emissions, estimated by counting (Vail 2008, equation
/// 2.11).
///
/// It emits the observation functions of the state features, except constant ones; transition
/// features have no effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hmm {
    /// Distribution of each observation function given a label.
    pub emission: Emission,
    /// Pseudo-count, added to every count of starts, transitions and outcomes; for Gaussians, the
    /// number of observations with the overall variance that are added to those of each label. At
    /// least 0; 0 is maximum likelihood.
    pub smoothing: f64,
    /// Factor of the standard deviations of Gaussians (Vail 2008, §2.7.4); above 0.
    pub sigma_scale: f64,
    /// Minimum of the standard deviations of Gaussians; above 0.
    pub sigma_floor: f64,
}

/// Emission distribution; the observation functions are independent given the label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Emission {
    /// Gaussian: real numbers with a mean and a variance per label.
    Gaussian,
    /// Bernoulli: tests that are 0 or 1, with a probability per label.
    Bernoulli,
    /// Categorical: symbols; the functions of one channel exclude each other and share one
    /// distribution per label.
    Categorical,
}

impl Default for Hmm {
    fn default() -> Self {
        Hmm { emission: Emission::Gaussian, smoothing: 0.5, sigma_scale: 1.0, sigma_floor: 1e-3 }
    }
}

crf_core::plugin!("learner", Hmm, "hmm", example = r#"emission = "gaussian""#);

#[typetag::serde(name = "hmm")]
impl Learner for Hmm {
    fn check(&self) -> Result<()> {
        require(
            self.smoothing.is_finite() && self.smoothing >= 0.0,
            "smoothing",
            "a finite number of at least 0",
            self.smoothing,
        )?;
        let positive = |x: f64| x.is_finite() && x > 0.0;
        require(positive(self.sigma_scale), "sigma_scale", "a finite number above 0", self.sigma_scale)?;
        require(positive(self.sigma_floor), "sigma_floor", "a finite number above 0", self.sigma_floor)
    }

    fn fit(&self, problem: &Problem<'_>, _run: &mut FitContext<'_>) -> Result<Fit> {
        let model = self.estimate(problem.train, problem.map)?;
        require_usable(&model, problem)?;
        if self.emission == Emission::Gaussian {
            warn_of_tests(&model, problem.train);
        }
        Ok(Fit { model: Box::new(model), trace: Trace { iterations: Vec::new(), stop: Stop::Direct } })
    }
}

/// Warns if Gaussians stand for functions that are 0 or 1 everywhere.
fn warn_of_tests(model: &HmmModel, x: &EncodedDataset) {
    let features = model.map.state();
    let mut is_test = vec![true; features.n_observations()];
    (0..x.nodes().len()).for_each(|t| x.nodes().for_each(t, |g, value| is_test[g as usize] &= value == 1.0));
    let mut tests = model.emitted().filter(|&g| is_test[g]);
    if let Some(first) = tests.next() {
        tracing::warn!(
            "{} of the functions, such as `{}`, are 0 or 1 everywhere: `emission = \"bernoulli\"` is made for them",
            1 + tests.count(),
            features.name(first as u32)
        );
    }
}

/// The label of every position; unlabelled ones and graphs other than chains are refused.
pub(crate) fn complete_labels(x: &EncodedDataset) -> Result<Vec<Label>> {
    if !x.data().is_chains() {
        return Err(Error::Unsupported { tag: "hmm", what: "models chains only".into() });
    }
    if x.data().n_positions() == 0 {
        return Err(Error::data("the training data have no position"));
    }
    let labels: Option<Vec<Label>> = x.data().labels().iter().copied().collect();
    labels.ok_or_else(|| Error::Unsupported {
        tag: "hmm",
        what: "needs a label at every position; `mle` does not".into(),
    })
}

impl Hmm {
    /// The model by counting.
    pub(crate) fn estimate(&self, x: &EncodedDataset, map: &Arc<FeatureMap>) -> Result<HmmModel> {
        let features = map.state();
        let n_labels = map.schema().n_labels(0);
        let labels = complete_labels(x)?;
        let mut model = HmmModel {
            map: map.clone(),
            start: vec![0.0; n_labels],
            transition: vec![0.0; n_labels * n_labels],
            base: vec![0.0; n_labels],
            linear: vec![0.0; features.n_observations() * n_labels],
            quadratic: vec![0.0; features.n_observations() * n_labels],
        };
        self.fit_chain(x, &labels, &mut model);
        let statistics =
            Statistics::collect(x, &labels, features.n_observations(), n_labels, self.emission, |g| {
                features.name(g)
            })?;
        let emitted: Vec<usize> = model.emitted().collect();
        let n_groups = emitted.iter().map(|&g| features.group(g as u32) as usize + 1).max().unwrap_or(0);
        let mut groups = vec![(0.0, vec![0.0; n_labels]); n_groups];
        for &g in &emitted {
            let (size, totals) = &mut groups[features.group(g as u32) as usize];
            *size += 1.0;
            totals.iter_mut().zip(&statistics.sum[g * n_labels..]).for_each(|(total, sum)| *total += sum);
        }
        for g in emitted {
            for y in 0..n_labels {
                let index = g * n_labels + y;
                let (base, linear, quadratic) = match self.emission {
                    Emission::Gaussian => self.gaussian(&statistics, g, y),
                    Emission::Bernoulli => self.bernoulli(&statistics, index, y),
                    Emission::Categorical => {
                        self.categorical(&statistics, index, y, &groups[features.group(g as u32) as usize])
                    }
                };
                model.base[y] += base;
                model.linear[index] = linear;
                model.quadratic[index] = quadratic;
            }
        }
        Ok(model)
    }

    fn fit_chain(&self, x: &EncodedDataset, labels: &[Label], model: &mut HmmModel) {
        let n = model.start.len();
        for i in 0..x.len() {
            let (labels, weight) = (&labels[x.data().range(i)], x.data().weight(i));
            labels.first().iter().for_each(|&&y| model.start[y as usize] += weight);
            labels
                .windows(2)
                .for_each(|pair| model.transition[pair[0] as usize * n + pair[1] as usize] += weight);
        }
        log_distribution(&mut model.start, self.smoothing);
        model.transition.chunks_mut(n).for_each(|row| log_distribution(row, self.smoothing));
    }

    fn gaussian(&self, statistics: &Statistics, g: usize, y: usize) -> (f64, f64, f64) {
        let n_labels = statistics.count.len();
        let all = statistics.moments(g, 0..n_labels);
        let (count, mean, square) = statistics.moments(g, y..y + 1);
        let overall = all.2 / all.0;
        let (mean, square) = if count > 0.0 { (mean, square) } else { (all.1, overall) };
        let weight = count + self.smoothing;
        let variance = if weight > 0.0 { (square + self.smoothing * overall) / weight } else { overall };
        natural(mean, (variance.sqrt() * self.sigma_scale).max(self.sigma_floor))
    }

    /// Emission log p^x (1−p)^(1−x) = log(1−p) + x·log(p / (1−p)).
    fn bernoulli(&self, statistics: &Statistics, index: usize, y: usize) -> (f64, f64, f64) {
        let (yes, all) = (statistics.sum[index] + self.smoothing, statistics.count[y] + 2.0 * self.smoothing);
        let p = if all > 0.0 { yes / all } else { 0.5 };
        let (yes, no) = (log_probability(p), log_probability(1.0 - p));
        (no, yes - no, 0.0)
    }

    /// Emission log p_g: only one function of a group is not zero, so the others contribute
    /// nothing.
    fn categorical(
        &self,
        statistics: &Statistics,
        index: usize,
        y: usize,
        group: &(f64, Vec<f64>),
    ) -> (f64, f64, f64) {
        let (size, totals) = group;
        let (one, all) = (statistics.sum[index] + self.smoothing, totals[y] + size * self.smoothing);
        (0.0, log_probability(if all > 0.0 { one / all } else { 1.0 / size }), 0.0)
    }
}

/// Natural parameters of log N(x; μ, σ²) = (−μ²/2σ² − log σ√2π) + x·μ/σ² − x²/2σ² (Vail 2008,
/// §2.2.3): base, and factors of x and x².
pub(crate) fn natural(mean: f64, sigma: f64) -> (f64, f64, f64) {
    let precision = (sigma * sigma).recip();
    let base = -0.5 * mean * mean * precision - sigma.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln();
    (base, mean * precision, -0.5 * precision)
}

/// Logarithm of a probability, bounded below: what training never saw is very unlikely, not
/// impossible.
fn log_probability(p: f64) -> f64 {
    p.max(1e-300).ln()
}

/// Replaces counts by log probabilities; a row without counts becomes uniform.
fn log_distribution(counts: &mut [f64], smoothing: f64) {
    let total: f64 = counts.iter().map(|count| count + smoothing).sum();
    let uniform = 1.0 / counts.len() as f64;
    counts.iter_mut().for_each(|count| {
        *count = log_probability(if total > 0.0 { (*count + smoothing) / total } else { uniform })
    });
}

/// Weighted sums over the positions of each label.
struct Statistics {
    count: Vec<f64>,  // [labels]
    sum: Vec<f64>,    // [functions × labels] Σ x
    square: Vec<f64>, // [functions × labels] Σ (x − mean of the label)², zeros included
}

impl Statistics {
    fn collect<'n>(
        x: &EncodedDataset,
        labels: &[Label],
        n_functions: usize,
        n_labels: usize,
        emission: Emission,
        name: impl Fn(u32) -> &'n str,
    ) -> Result<Self> {
        let sums = || vec![0.0; n_functions * n_labels];
        let mut statistics = Statistics { count: vec![0.0; n_labels], sum: sums(), square: sums() };
        let mut non_zeros = sums();
        for i in 0..x.len() {
            let weight = x.data().weight(i);
            for t in x.data().range(i) {
                let y = labels[t] as usize;
                statistics.count[y] += weight;
                let mut bad = None;
                x.nodes().for_each(t, |g, value| {
                    statistics.sum[g as usize * n_labels + y] += weight * value;
                    bad = bad.or((emission != Emission::Gaussian && value != 1.0).then_some((g, value)));
                });
                if let Some((g, value)) = bad {
                    let place = format!("sequence {}, position {}", i + 1, t - x.data().range(i).start + 1);
                    let want =
                        format!("`{}` is {value}, but this emission needs 0 or 1; use `gaussian`", name(g));
                    return Err(Error::data(want).at(place));
                }
            }
        }
        // A second pass around the means, so that large values do not cancel.
        for i in 0..x.len() {
            let weight = x.data().weight(i);
            for t in x.data().range(i) {
                let y = labels[t] as usize;
                x.nodes().for_each(t, |g, value| {
                    let index = g as usize * n_labels + y;
                    statistics.square[index] +=
                        weight * (value - statistics.sum[index] / statistics.count[y]).powi(2);
                    non_zeros[index] += weight;
                });
            }
        }
        for (index, square) in statistics.square.iter_mut().enumerate() {
            let count = statistics.count[index % n_labels];
            if count > 0.0 {
                *square += (count - non_zeros[index]) * (statistics.sum[index] / count).powi(2);
            }
        }
        Ok(statistics)
    }

    /// Count, mean and Σ (x − mean)² of function `g` over the positions of several labels.
    fn moments(&self, g: usize, labels: std::ops::Range<usize>) -> (f64, f64, f64) {
        let (mut count, mut mean, mut square) = (0.0, 0.0, 0.0);
        for y in labels.filter(|&y| self.count[y] > 0.0) {
            let (n, index) = (self.count[y], g * self.count.len() + y);
            // Chan, Golub & LeVeque (1979): the moments of two samples together.
            let shift = self.sum[index] / n - mean;
            square += self.square[index] + shift * shift * count * n / (count + n);
            count += n;
            mean += shift * n / count;
        }
        (count, mean, square)
    }
}
