use crf_core::{
    Beliefs, EdgeBeliefs, Error, Fit, FitContext, Iteration, Label, Learner, Model as _, Problem, Result,
    Scratch, Stop, Trace, require,
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::generative::hmm::model::HmmModel;
use crate::generative::hmm::{Emission, Hmm, complete_labels, natural};
use crate::training::usable_model::require_usable;

/// A hidden Markov model with Gaussian emissions, trained to maximise the likelihood of the labels
/// given the observations (Vail 2008, §2.7.4).
///
/// Training starts from the estimates of `hmm`. In an iteration one pass over the data gives the
/// derivatives of log p(Y | X) by all parameters, from expectations, and each parameter moves by a
/// step of its own length up its slope; a step grows where the slope keeps its sign and shrinks
/// where that changes, or where all moves together do not raise the likelihood (Rprop: Riedmiller &
/// Braun 1993). Distributions are normalised after each iteration. It serves for comparison with a
/// CRF of the same features, which reaches its optimum in a small fraction of the time.
///
/// Deviations: the thesis tries a step up and one down for each parameter in turn, which takes two
/// passes over the data per parameter, and shortens all steps with the number of the iteration. It
/// does not print the units of its parameters. Here a mean moves in standard deviations of its
/// Gaussian; probabilities and standard deviations are multiplied by exp(± step), so none can
/// become negative.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DiscriminativeHmm {
    /// Pseudo-count of the initial estimates, as for `hmm`; at least 0.
    pub smoothing: f64,
    /// Minimum of the standard deviations; above 0.
    pub sigma_floor: f64,
    /// Length of the first steps; above 0.
    pub step: f64,
    /// Maximum number of iterations.
    pub iterations: u32,
}

impl Default for DiscriminativeHmm {
    fn default() -> Self {
        let Hmm { smoothing, sigma_floor, .. } = Hmm::default();
        DiscriminativeHmm { smoothing, sigma_floor, step: 0.05, iterations: 100 }
    }
}

crf_core::plugin!("learner", DiscriminativeHmm, "discriminative-hmm", example = "iterations = 2");

#[typetag::serde(name = "discriminative-hmm")]
impl Learner for DiscriminativeHmm {
    fn check(&self) -> Result<()> {
        self.initial().check()?;
        let positive = self.step.is_finite() && self.step > 0.0;
        require(positive, "step", "a finite number above 0", self.step)
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        let mut model = self.initial().estimate(problem.train, problem.map)?;
        require_usable(&model, problem)?;
        let mut moved = model.clone();
        let parameters = parameters(&model);
        let mut shards = Shards::new(problem)?;
        let (mut value, mut slopes) = shards.slopes(&model, &parameters)?;
        let mut steps = vec![self.step; parameters.len()];
        let longest = LONGEST_STEP.max(self.step);
        let mut trace = Vec::new();
        let mut stop = Stop::Budget;
        for iteration in 1..=self.iterations {
            moved.clone_from(&model);
            let moves = steps.iter().zip(&slopes).map(|(step, slope)| step * sign(*slope));
            shift(&mut moved, parameters.iter().zip(moves), self.sigma_floor);
            let (got, of_moved) = shards.slopes(&moved, &parameters)?;
            let rose = got > value;
            for ((step, before), now) in steps.iter_mut().zip(&slopes).zip(&of_moved) {
                let goes_on = rose && before * now > 0.0;
                *step = if goes_on { (GROWTH * *step).min(longest) } else { SHRINKAGE * *step };
            }
            if rose {
                std::mem::swap(&mut model, &mut moved);
                (value, slopes) = (got, of_moved);
            }
            let line = Iteration {
                iteration,
                objective: -value,
                gradient_norm: slopes.iter().map(|slope| slope * slope).sum::<f64>().sqrt(),
                non_zeros: parameters.len(),
                evaluations: iteration + 1,
                holdout: None,
                dual: None,
                seconds: run.seconds(),
            };
            let next = run.observe(&line);
            trace.push(line);
            if next.is_break() {
                stop = Stop::Observer;
                break;
            }
            if steps.iter().all(|step| *step < SHORTEST_STEP) {
                stop = Stop::NoProgress;
                break;
            }
        }
        Ok(Fit { model: Box::new(model), trace: Trace { iterations: trace, stop } })
    }
}

/// Factor of a step whose slope kept its sign.
const GROWTH: f64 = 1.2;
/// Factor of a step whose slope changed its sign.
const SHRINKAGE: f64 = 0.5;
/// Maximum length of steps that grow: a standard deviation, or a factor of e.
const LONGEST_STEP: f64 = 1.0;
/// Length of steps below which none of them changes anything.
const SHORTEST_STEP: f64 = 1e-12;

/// Sign of a slope; 0 has none.
fn sign(slope: f64) -> f64 {
    if slope == 0.0 { 0.0 } else { slope.signum() }
}

impl DiscriminativeHmm {
    fn initial(&self) -> Hmm {
        let DiscriminativeHmm { smoothing, sigma_floor, .. } = *self;
        Hmm { emission: Emission::Gaussian, smoothing, sigma_floor, ..Hmm::default() }
    }
}

/// Maximum number of shards; fixed, so that sums do not depend on the number of threads.
const SHARDS: usize = 16;

/// Training data in shards, which are summed in order.
struct Shards<'a> {
    problem: &'a Problem<'a>,
    truth: Vec<Label>, // [positions]
    shards: Vec<Shard>,
}

/// Some of the sequences, with their derivatives and memory.
struct Shard {
    sequences: std::ops::Range<usize>,
    sums: Sums,
    marginals: Vec<f64>, // [labels of a sequence]
    potentials: Scratch,
    inference: Scratch,
}

/// Log p(Y | X), and its derivatives by scores: with δ_t(y) = (y_t = y) − p(y_t = y | X), of which
/// those by all parameters are made.
#[derive(Debug, Clone, Default)]
struct Sums {
    value: f64,
    of_label: Vec<f64>, // [labels] Σ_t δ_t
    of_start: Vec<f64>, // [labels] Σ δ_1
    observed: Vec<f64>, // [labels × labels] counts of pairs
    expected: Vec<f64>, // [labels × labels] expected counts of pairs
    first: Vec<f64>,    // [functions × labels] Σ_t δ_t x_t
    second: Vec<f64>,   // [functions × labels] Σ_t δ_t x_t²
}

impl Sums {
    fn new(n_functions: usize, n_labels: usize) -> Self {
        let zeros = |len: usize| vec![0.0; len];
        Sums {
            value: 0.0,
            of_label: zeros(n_labels),
            of_start: zeros(n_labels),
            observed: zeros(n_labels * n_labels),
            expected: zeros(n_labels * n_labels),
            first: zeros(n_functions * n_labels),
            second: zeros(n_functions * n_labels),
        }
    }

    fn vectors(&mut self) -> [&mut Vec<f64>; 6] {
        let Sums { value: _, of_label, of_start, observed, expected, first, second } = self;
        [of_label, of_start, observed, expected, first, second]
    }

    fn clear(&mut self) {
        self.value = 0.0;
        self.vectors().into_iter().for_each(|vector| vector.fill(0.0));
    }

    fn add(&mut self, other: &mut Sums) {
        self.value += other.value;
        for (to, from) in self.vectors().into_iter().zip(other.vectors()) {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += *from);
        }
    }
}

impl<'a> Shards<'a> {
    fn new(problem: &'a Problem<'a>) -> Result<Self> {
        let truth = complete_labels(problem.train)?;
        let (n_functions, n_labels) =
            (problem.map.state().n_observations(), problem.map.schema().n_labels(0));
        let n = problem.train.len();
        let n_shards = n.min(SHARDS);
        let shard = |k: usize| Shard {
            sequences: k * n / n_shards..(k + 1) * n / n_shards,
            sums: Sums::new(n_functions, n_labels),
            marginals: Vec::new(),
            potentials: Scratch::new(),
            inference: Scratch::new(),
        };
        Ok(Shards { problem, truth, shards: (0..n_shards).map(shard).collect() })
    }

    /// Log p(Y | X) under a model, and its derivatives by the parameters.
    fn slopes(&mut self, model: &HmmModel, parameters: &[Parameter]) -> Result<(f64, Vec<f64>)> {
        let Shards { problem, truth, shards } = self;
        let bound = model.bind(problem.train)?;
        shards.par_iter_mut().try_for_each(|shard| {
            shard.sums.clear();
            shard.sequences.clone().try_for_each(|i| {
                let Shard { sums, marginals, potentials, inference, .. } = &mut *shard;
                let (x, n) = (problem.train, model.start.len());
                let (range, weight) = (x.data().range(i), x.data().weight(i));
                let truth = &truth[range.clone()];
                let p = bound.fill(i, potentials)?;
                marginals.resize(p.node().len(), 0.0);
                let edge = EdgeBeliefs::PerTable { sums: &mut sums.expected, weight };
                let log_z = problem.inference.infer(&p, &mut Beliefs { node: marginals, edge }, inference);
                let log_z = log_z.map_err(|error| no_density(error).at(format!("sequence {}", i + 1)))?;
                sums.value += weight * (p.score(truth) - log_z.value);
                truth
                    .windows(2)
                    .for_each(|pair| sums.observed[pair[0] as usize * n + pair[1] as usize] += weight);
                for (t, (delta, &label)) in marginals.chunks_mut(n).zip(truth).enumerate() {
                    delta.iter_mut().for_each(|delta| *delta *= -weight);
                    delta[label as usize] += weight;
                    let add = |to: &mut [f64], factor: f64| {
                        to.iter_mut().zip(&*delta).for_each(|(to, delta)| *to += factor * delta);
                    };
                    add(&mut sums.of_label, 1.0);
                    if t == 0 {
                        add(&mut sums.of_start, 1.0);
                    }
                    x.nodes().for_each(range.start + t, |g, value| {
                        let index = g as usize * n..(g as usize + 1) * n;
                        add(&mut sums.first[index.clone()], value);
                        add(&mut sums.second[index], value * value);
                    });
                }
                Ok(())
            })
        })?;
        let Some((total, others)) = shards.split_first_mut() else {
            return Ok((0.0, vec![0.0; parameters.len()]));
        };
        others.iter_mut().for_each(|shard| total.sums.add(&mut shard.sums));
        let sums = &total.sums;
        Ok((sums.value, parameters.iter().map(|parameter| parameter.slope(model, sums)).collect()))
    }
}

/// A parameter of a hidden Markov model.
#[derive(Debug, Clone, Copy)]
enum Parameter {
    /// Initial probability of a label.
    Start(usize),
    /// Transition probability from a label to a label.
    Transition(usize, usize),
    /// Mean of a function given a label.
    Mean(usize, usize),
    /// Standard deviation of a function given a label.
    Deviation(usize, usize),
}

/// All parameters of a model.
fn parameters(model: &HmmModel) -> Vec<Parameter> {
    let labels = || 0..model.start.len();
    let emitted = model
        .emitted()
        .flat_map(|g| labels().flat_map(move |y| [Parameter::Mean(g, y), Parameter::Deviation(g, y)]));
    let chain = labels().flat_map(|i| {
        std::iter::once(Parameter::Start(i)).chain(labels().map(move |j| Parameter::Transition(i, j)))
    });
    emitted.chain(chain).collect()
}

impl Parameter {
    /// Derivative of log p(Y | X) by the parameter, in its unit.
    fn slope(self, model: &HmmModel, sums: &Sums) -> f64 {
        let n = model.start.len();
        match self {
            // Moving one of several probabilities takes from all of them what is more than 1.
            Parameter::Start(y) => {
                sums.of_start[y] - model.start[y].exp() * sums.of_start.iter().sum::<f64>()
            }
            Parameter::Transition(i, j) => {
                let excess = |j: usize| sums.observed[i * n + j] - sums.expected[i * n + j];
                excess(j) - model.transition[i * n + j].exp() * (0..n).map(excess).sum::<f64>()
            }
            Parameter::Mean(g, y) => {
                let (mean, sigma) = model.gaussian(g, y);
                (sums.first[g * n + y] - mean * sums.of_label[y]) / sigma
            }
            Parameter::Deviation(g, y) => {
                let ((mean, sigma), index) = (model.gaussian(g, y), g * n + y);
                let square =
                    sums.second[index] - 2.0 * mean * sums.first[index] + mean * mean * sums.of_label[y];
                square / (sigma * sigma) - sums.of_label[y]
            }
        }
    }
}

/// Moves parameters, each by its own step, and normalises the distributions.
fn shift<'p>(model: &mut HmmModel, moves: impl Iterator<Item = (&'p Parameter, f64)>, sigma_floor: f64) {
    let n = model.start.len();
    for (&parameter, step) in moves {
        match parameter {
            Parameter::Start(y) => model.start[y] += step,
            Parameter::Transition(i, j) => model.transition[i * n + j] += step,
            Parameter::Mean(g, y) => {
                let (mean, sigma) = model.gaussian(g, y);
                model.set_gaussian(g, y, mean + step * sigma, sigma);
            }
            Parameter::Deviation(g, y) => {
                let (mean, sigma) = model.gaussian(g, y);
                model.set_gaussian(g, y, mean, (sigma * step.exp()).max(sigma_floor));
            }
        }
    }
    normalise(&mut model.start);
    model.transition.chunks_mut(n).for_each(normalise);
}

impl HmmModel {
    /// Replaces the Gaussian of a function given a label.
    fn set_gaussian(&mut self, g: usize, y: usize, mean: f64, sigma: f64) {
        let (old_mean, old_sigma) = self.gaussian(g, y);
        let (base, linear, quadratic) = natural(mean, sigma);
        let index = g * self.start.len() + y;
        self.base[y] += base - natural(old_mean, old_sigma).0;
        self.linear[index] = linear;
        self.quadratic[index] = quadratic;
    }
}

/// Normalises probabilities that are given as logarithms.
fn normalise(log_p: &mut [f64]) {
    let log_sum = log_p.iter().map(|log_p| log_p.exp()).sum::<f64>().ln();
    log_p.iter_mut().for_each(|log_p| *log_p -= log_sum);
}

/// Error of an inference in the words of the learner: nothing is forbidden, so labels are
/// impossible where every density underflows.
fn no_density(error: Error) -> Error {
    match error {
        Error::Infeasible(_) => {
            Error::NotFinite("the logarithm of every label's density; scale the features".into())
        }
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crf_testing::problems::{Draw, Encoded, data};
    use crf_testing::runs::INFERENCE;

    #[test]
    fn slopes_match_central_differences() {
        let draw = Draw { sequences: 4, length: 12, labels: 3, unlabelled: 0, seed: 7 };
        let encoded = Encoded::new(r#"[{"state": "value"}]"#, data(&draw));
        let problem = encoded.problem(&INFERENCE);
        let model = DiscriminativeHmm::default().initial().estimate(problem.train, problem.map).unwrap();
        let parameters = parameters(&model);
        let mut shards = Shards::new(&problem).unwrap();
        let (_, slopes) = shards.slopes(&model, &parameters).unwrap();
        for (parameter, slope) in parameters.iter().zip(slopes) {
            let [above, below] = [1e-5, -1e-5].map(|by| {
                let mut moved = model.clone();
                shift(&mut moved, std::iter::once((parameter, by)), 1e-3);
                shards.slopes(&moved, &[]).unwrap().0
            });
            let want = (above - below) / 2e-5;
            assert!((slope - want).abs() < 1e-5 * (1.0 + want.abs()), "{parameter:?}: {slope} vs {want}");
        }
    }
}
