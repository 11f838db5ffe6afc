use std::sync::Arc;

use crf_core::{
    BoundModel, EdgeTables, EncodedDataset, Error, FeatureMap, Fit, FitContext, FittedFeatures, Label,
    Learner, LogLinear, Model, Potentials, Problem, Result, Schema, Scratch, Shape, Stop, Tables, Target,
    Trace, require,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A hidden Markov model with naive-Bayes emissions, fitted by counting (Vail 2008, equation 2.11).
///
/// It emits the observation functions of the state features; constant ones and transition features do not concern it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Hmm {
    /// How a label emits each observation function.
    pub emission: Emission,
    /// Added to every count, of starts, transitions and outcomes; for Gaussians, how many observations with the
    /// overall variance are added to those of each label. At least 0; 0 is maximum likelihood.
    pub smoothing: f64,
    /// Gaussian standard deviations are multiplied by this (Vail 2008, §2.7.4); above 0.
    pub sigma_scale: f64,
    /// Gaussian standard deviations are at least this; above 0.
    pub sigma_floor: f64,
}

/// How a label emits observation functions, each independently of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Emission {
    /// Real numbers with a mean and a variance per label.
    Gaussian,
    /// Tests that are 0 or 1, with a probability per label.
    Bernoulli,
    /// Symbols: the functions of one channel exclude each other and share a distribution per label.
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
        let model = Box::new(self.estimate(problem.train, problem.map)?);
        Ok(Fit { model, trace: Trace { iterations: Vec::new(), stop: Stop::Direct } })
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
        let links = map.state();
        let n_labels = map.schema().n_labels(0);
        let labels = complete_labels(x)?;
        let mut model = HmmModel {
            map: map.clone(),
            start: vec![0.0; n_labels],
            transition: vec![0.0; n_labels * n_labels],
            base: vec![0.0; n_labels],
            linear: vec![0.0; links.n_observations() * n_labels],
            quadratic: vec![0.0; links.n_observations() * n_labels],
        };
        self.fit_chain(x, &labels, &mut model);
        let statistics =
            Statistics::of(x, &labels, links.n_observations(), n_labels, self.emission, |g| links.name(g))?;
        let emitted: Vec<usize> = model.emitted().collect();
        let n_groups = emitted.iter().map(|&g| links.group(g as u32) as usize + 1).max().unwrap_or(0);
        let mut groups = vec![(0.0, vec![0.0; n_labels]); n_groups];
        for &g in &emitted {
            let (size, totals) = &mut groups[links.group(g as u32) as usize];
            *size += 1.0;
            totals.iter_mut().zip(&statistics.sum[g * n_labels..]).for_each(|(total, sum)| *total += sum);
        }
        for g in emitted {
            for y in 0..n_labels {
                let at = g * n_labels + y;
                let (base, linear, quadratic) = match self.emission {
                    Emission::Gaussian => self.gaussian(&statistics, g, y),
                    Emission::Bernoulli => self.bernoulli(&statistics, at, y),
                    Emission::Categorical => {
                        self.categorical(&statistics, at, y, &groups[links.group(g as u32) as usize])
                    }
                };
                model.base[y] += base;
                model.linear[at] = linear;
                model.quadratic[at] = quadratic;
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

    fn gaussian(&self, of: &Statistics, g: usize, y: usize) -> (f64, f64, f64) {
        let n_labels = of.count.len();
        let all = of.moments(g, 0..n_labels);
        let (count, mean, square) = of.moments(g, y..y + 1);
        let overall = all.2 / all.0;
        let (mean, square) = if count > 0.0 { (mean, square) } else { (all.1, overall) };
        let weight = count + self.smoothing;
        let variance = if weight > 0.0 { (square + self.smoothing * overall) / weight } else { overall };
        natural(mean, (variance.sqrt() * self.sigma_scale).max(self.sigma_floor))
    }

    /// log p^x (1−p)^(1−x) = log(1−p) + x·log(p / (1−p)).
    fn bernoulli(&self, of: &Statistics, at: usize, y: usize) -> (f64, f64, f64) {
        let (yes, all) = (of.sum[at] + self.smoothing, of.count[y] + 2.0 * self.smoothing);
        let p = if all > 0.0 { yes / all } else { 0.5 };
        let (yes, no) = (log_of(p), log_of(1.0 - p));
        (no, yes - no, 0.0)
    }

    /// log p_g: of a group's functions only one is not zero, so nothing is owed to the others.
    fn categorical(&self, of: &Statistics, at: usize, y: usize, group: &(f64, Vec<f64>)) -> (f64, f64, f64) {
        let (size, totals) = group;
        let (one, all) = (of.sum[at] + self.smoothing, totals[y] + size * self.smoothing);
        (0.0, log_of(if all > 0.0 { one / all } else { 1.0 / size }), 0.0)
    }
}

/// log N(x; μ, σ²) = (−μ²/2σ² − log σ√2π) + x·μ/σ² − x²/2σ² (Vail 2008, §2.2.3).
pub(crate) fn natural(mean: f64, sigma: f64) -> (f64, f64, f64) {
    let precision = (sigma * sigma).recip();
    let base = -0.5 * mean * mean * precision - sigma.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln();
    (base, mean * precision, -0.5 * precision)
}

/// The logarithm of a probability; what training never saw is very unlikely, not impossible.
fn log_of(p: f64) -> f64 {
    p.max(1e-300).ln()
}

/// Turns counts into log probabilities; a row that was never visited becomes uniform.
fn log_distribution(counts: &mut [f64], smoothing: f64) {
    let total: f64 = counts.iter().map(|count| count + smoothing).sum();
    let uniform = 1.0 / counts.len() as f64;
    counts
        .iter_mut()
        .for_each(|count| *count = log_of(if total > 0.0 { (*count + smoothing) / total } else { uniform }));
}

/// Weighted sums over the positions of each label.
struct Statistics {
    count: Vec<f64>,  // [labels]
    sum: Vec<f64>,    // [functions × labels] Σ x
    square: Vec<f64>, // [functions × labels] Σ (x − mean of the label)², zeros included
}

impl Statistics {
    fn of<'n>(
        x: &EncodedDataset,
        labels: &[Label],
        n_functions: usize,
        n_labels: usize,
        emission: Emission,
        name: impl Fn(u32) -> &'n str,
    ) -> Result<Self> {
        let sums = || vec![0.0; n_functions * n_labels];
        let (mut of, mut non_zeros) =
            (Statistics { count: vec![0.0; n_labels], sum: sums(), square: sums() }, sums());
        for i in 0..x.len() {
            let weight = x.data().weight(i);
            for t in x.data().range(i) {
                let y = labels[t] as usize;
                of.count[y] += weight;
                let mut bad = None;
                x.nodes().for_each(t, |g, value| {
                    of.sum[g as usize * n_labels + y] += weight * value;
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
                    let at = g as usize * n_labels + y;
                    of.square[at] += weight * (value - of.sum[at] / of.count[y]).powi(2);
                    non_zeros[at] += weight;
                });
            }
        }
        for (at, square) in of.square.iter_mut().enumerate() {
            let count = of.count[at % n_labels];
            if count > 0.0 {
                *square += (count - non_zeros[at]) * (of.sum[at] / count).powi(2);
            }
        }
        Ok(of)
    }

    /// Count, mean and Σ (x − mean)² of function `g` over the positions of several labels.
    fn moments(&self, g: usize, labels: std::ops::Range<usize>) -> (f64, f64, f64) {
        let (mut count, mut mean, mut square) = (0.0, 0.0, 0.0);
        for y in labels.filter(|&y| self.count[y] > 0.0) {
            let (n, at) = (self.count[y], g * self.count.len() + y);
            // Chan, Golub & LeVeque (1979): the moments of two samples together.
            let off = self.sum[at] / n - mean;
            square += self.square[at] + off * off * count * n / (count + n);
            count += n;
            mean += off * n / count;
        }
        (count, mean, square)
    }
}

/// A hidden Markov model in the parameters of the CRF it is equal to: every emission here is log-linear in x and x².
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HmmModel {
    map: Arc<FeatureMap>,
    pub(crate) start: Vec<f64>,      // [labels] log π
    pub(crate) transition: Vec<f64>, // [labels × labels] log p(y | y')
    pub(crate) base: Vec<f64>,       // [labels] what a label emits when every function is 0
    pub(crate) linear: Vec<f64>,     // [functions × labels] factor of x
    pub(crate) quadratic: Vec<f64>,  // [functions × labels] factor of x²
}

impl HmmModel {
    /// The functions that are emitted: those that selection has left without a feature are not.
    pub(crate) fn emitted(&self) -> impl Iterator<Item = usize> {
        let links = self.map.state();
        let is_emitted = |g: u32| !links.is_constant(g) && !links.targets(g).is_empty();
        (0..links.n_observations()).filter(move |&g| is_emitted(g as u32))
    }

    /// Mean and standard deviation of a function that has a Gaussian.
    pub(crate) fn gaussian(&self, g: usize, y: usize) -> (f64, f64) {
        let at = g * self.start.len() + y;
        let variance = -0.5 / self.quadratic[at];
        (self.linear[at] * variance, variance.sqrt())
    }

    /// The same distribution p(Y | X) as a log-linear model (Vail 2008, §2.2.3).
    ///
    /// `map` must have intercepts, start and transition features, and for every function x that is emitted state
    /// features of x, and of x² when emissions are Gaussian; a feature it lacks is an error that names it.
    pub fn to_crf(&self, map: Arc<FeatureMap>) -> Result<LogLinear> {
        let schema = map.schema().clone();
        let mut weights = vec![0.0; map.len()];
        let mut used = vec![false; self.linear.len() + self.quadratic.len()];
        let (mut intercepts, mut starts, mut pairs) = (0, 0, 0);
        let links = self.map.state();
        let find = |name: &str| self.emitted().find(|&g| links.name(g as u32) == name);
        let n = self.start.len();
        for (k, weight) in weights.iter_mut().enumerate() {
            match map.feature(k) {
                (g, Target::State(y)) => {
                    let (y, name) = (y as usize, map.state().name(g));
                    if map.is_intercept(k) {
                        *weight = self.base[y];
                        intercepts += 1;
                    } else if name == "first" {
                        *weight = self.start[y];
                        starts += 1;
                    } else if let Some(at) = find(name).map(|g| g * n + y) {
                        *weight = self.linear[at];
                        used[at] = true;
                    } else if let Some(at) = name.strip_suffix('²').and_then(find).map(|g| g * n + y) {
                        *weight = self.quadratic[at];
                        used[self.linear.len() + at] = true;
                    }
                }
                (g, Target::Transition(before, now)) if map.transition().is_constant(g) => {
                    *weight = self.transition[before as usize * n + now as usize];
                    pairs += 1;
                }
                _ => {}
            }
        }
        let missing = |what: String| {
            Err(Error::data(format!("the feature map lacks {what}, which the hidden Markov model needs")))
        };
        if (intercepts, starts, pairs) != (n, n, n * n) {
            return missing("one of `intercept`, `start` and `transition`".into());
        }
        let factors = self.linear.iter().chain(&self.quadratic);
        if let Some((at, _)) = factors.enumerate().find(|&(at, &factor)| factor != 0.0 && !used[at]) {
            let (g, square) = (at % self.linear.len() / n, at >= self.linear.len());
            let label = schema.labels().name((at % n) as Label);
            return missing(format!("y={label} ∧ {}{}", links.name(g as u32), if square { "²" } else { "" }));
        }
        LogLinear::new(map, weights)
    }
}

#[typetag::serde(name = "hmm")]
impl Model for HmmModel {
    fn restore(&mut self, features: &FittedFeatures) -> Result<()> {
        Arc::make_mut(&mut self.map).restore(features)
    }

    fn bind<'a>(&'a self, x: &'a EncodedDataset) -> Result<Box<dyn BoundModel + 'a>> {
        let schema: &Schema = self.map.schema();
        if schema != &**x.data().schema() || !x.data().is_chains() {
            return Err(Error::data(
                "the model was made for chains with other channels or labels than the data have",
            ));
        }
        let n = self.start.len();
        Ok(Box::new(Bound { model: self, x, table_offset: [0, n * n], version: Tables::new_version() }))
    }

    fn describe(&self, top: usize, out: &mut dyn FnMut(&str, f64)) {
        let n = self.start.len();
        let name = |y: usize| self.map.schema().labels().name(y as Label);
        let mut all = Vec::new();
        for y in 0..n {
            all.push((format!("log p(first y={})", name(y)), self.start[y]));
            (0..n).for_each(|j| {
                all.push((format!("log p(y={} | y'={})", name(j), name(y)), self.transition[y * n + j]))
            });
            for g in 0..self.map.state().n_observations() {
                let function = self.map.state().name(g as u32);
                let at = g * n + y;
                match self.quadratic[at] {
                    0.0 => all.push((format!("y={} ∧ {function}", name(y)), self.linear[at])),
                    _ => {
                        let (mean, sigma) = self.gaussian(g, y);
                        all.push((format!("mean of {function} given y={}", name(y)), mean));
                        all.push((format!("deviation of {function} given y={}", name(y)), sigma));
                    }
                }
            }
        }
        all.iter().take(top).for_each(|(name, value)| out(name, *value));
    }
}

/// Memory for one sequence's node potentials.
#[derive(Default)]
struct Node(Vec<f64>);

struct Bound<'a> {
    model: &'a HmmModel,
    x: &'a EncodedDataset,
    table_offset: [usize; 2],
    version: u64,
}

impl BoundModel for Bound<'_> {
    fn fill<'s>(&'s self, i: usize, scratch: &'s mut Scratch) -> Result<Potentials<'s>> {
        let (model, x) = (self.model, self.x);
        let n = model.start.len();
        let range = x.data().range(i);
        let Node(node) = scratch.get();
        node.clear();
        for t in range.clone() {
            let at = node.len();
            node.extend_from_slice(&model.base);
            x.nodes().for_each(t, |g, value| {
                let (linear, quadratic) =
                    (&model.linear[g as usize * n..], &model.quadratic[g as usize * n..]);
                for (y, node) in node[at..].iter_mut().enumerate() {
                    *node += value * (linear[y] + value * quadratic[y]);
                }
            });
        }
        node.iter_mut().zip(&model.start).for_each(|(node, start)| *node += start);
        let shape = Shape::Chain { len: range.len(), labels: n };
        let (values, starts) = (model.transition.as_slice(), self.table_offset.as_slice());
        Potentials::new(
            shape,
            node,
            Tables { values, starts, of_edge: EdgeTables::Shared, version: self.version },
        )
    }
}
