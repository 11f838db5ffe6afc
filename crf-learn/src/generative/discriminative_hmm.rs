use crf_core::{
    Beliefs, EdgeBeliefs, EdgeTables, Fit, FitContext, Iteration, Label, Learner, Model, Potentials, Problem,
    Result, Scratch, Shape, Stop, TableVersion, Tables, Trace, require,
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::generative::hmm::model::HmmModel;
use crate::generative::hmm::{Emission, Hmm, complete_labels, natural};

/// A hidden Markov model with Gaussian emissions, trained to maximise the likelihood of the labels
/// given the observations (Vail 2008, §2.7.4).
///
/// Training starts from the estimates of `hmm` and visits all parameters in turn. Each is moved by
/// a step, up or down, if that raises log p(Y | X); steps of iteration j have the length `step` /
/// √j. Distributions are normalised after each step. It serves for comparison with a CRF of the
/// same features, which reaches its optimum in a small fraction of the time.
///
/// Deviations: the thesis does not print the units of its parameters. A mean moves in standard
/// deviations of its Gaussian; probabilities and standard deviations are multiplied by exp(± step),
/// so none can become negative.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DiscriminativeHmm {
    /// Pseudo-count of the initial estimates, as for `hmm`; at least 0.
    pub smoothing: f64,
    /// Minimum of the standard deviations; above 0.
    pub sigma_floor: f64,
    /// Length of the first steps; above 0. Long steps climb fast at first, but end at a lower
    /// likelihood than short ones reach.
    pub step: f64,
    /// Number of passes over all parameters. Training does not end before, since shorter steps may
    /// help where longer ones did not.
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
        let mut moved = model.clone();
        let mut parameters = parameters(&model);
        let mut chains = Chains::new(problem)?;
        let mut trace = Vec::new();
        let mut evaluations = 0;
        let mut stop = Stop::Budget;
        for iteration in 1..=self.iterations {
            // Scores are recomputed, so that the rounding errors of their changes do not add up.
            let before = chains.begin(&model)?;
            let mut value = before;
            let step = self.step / f64::from(iteration).sqrt();
            evaluations += 1;
            for (parameter, sign) in &mut parameters {
                // The direction that helped the last time is tried first.
                for direction in [*sign, -*sign] {
                    parameter.shift(&mut moved, direction * step, self.sigma_floor);
                    let got = chains.try_change(*parameter, &model, &moved)?;
                    evaluations += 1;
                    if got > value {
                        parameter.copy(&moved, &mut model);
                        chains.accept();
                        (value, *sign) = (got, direction);
                        break;
                    }
                    parameter.copy(&model, &mut moved);
                }
            }
            let line = Iteration {
                iteration,
                objective: -value,
                gradient_norm: (value - before) / step,
                non_zeros: parameters.len(),
                evaluations,
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
        }
        Ok(Fit { model: Box::new(model), trace: Trace { iterations: trace, stop } })
    }
}

impl DiscriminativeHmm {
    fn initial(&self) -> Hmm {
        let DiscriminativeHmm { smoothing, sigma_floor, .. } = *self;
        Hmm { emission: Emission::Gaussian, smoothing, sigma_floor, ..Hmm::default() }
    }
}

/// Training data with the scores of a model, which a change of one parameter changes in part.
struct Chains<'a> {
    problem: &'a Problem<'a>,
    chains: Vec<Chain>,
}

/// One sequence.
struct Chain {
    truth: Vec<Label>,
    weight: f64,
    /// Non-zero values as (function, position, value), sorted by function.
    values: Vec<(u32, u32, f64)>,
    node: Vec<f64>,      // [T × L] of the model
    moved: Vec<f64>,     // [T × L] of the model being tried
    marginals: Vec<f64>, // [T × L]
    scratch: Scratch,
}

impl<'a> Chains<'a> {
    fn new(problem: &'a Problem<'a>) -> Result<Self> {
        let x = problem.train;
        let truth = complete_labels(x)?;
        let chains = (0..x.len()).map(|i| {
            let range = x.data().range(i);
            let mut values = Vec::new();
            for (t, row) in (0_u32..).zip(range.clone()) {
                x.nodes().for_each(row, |g, value| values.push((g, t, value)));
            }
            values.sort_by_key(|&(g, t, _)| (g, t));
            let room = vec![0.0; range.len() * problem.map.schema().n_labels(0)];
            Chain {
                truth: truth[range].to_vec(),
                weight: x.data().weight(i),
                values,
                node: room.clone(),
                moved: room.clone(),
                marginals: room,
                scratch: Scratch::new(),
            }
        });
        Ok(Chains { problem, chains: chains.collect() })
    }

    /// Computes the scores of a model, and returns log p(Y | X).
    fn begin(&mut self, model: &HmmModel) -> Result<f64> {
        let bound = model.bind(self.problem.train)?;
        self.chains.par_iter_mut().enumerate().try_for_each(|(i, chain)| {
            chain.node.copy_from_slice(bound.fill(i, &mut chain.scratch)?.node());
            Ok(())
        })?;
        self.sum(model, |_| {})
    }

    /// Tries `moved`, which differs from `model` by one parameter, and returns its log p(Y | X).
    fn try_change(&mut self, parameter: Parameter, model: &HmmModel, moved: &HmmModel) -> Result<f64> {
        let n_labels = model.start.len();
        self.sum(moved, |chain| match parameter {
            Parameter::Transition(..) => {}
            Parameter::Start(_) => {
                let change = moved.start.iter().zip(&model.start);
                chain.moved.iter_mut().zip(change).for_each(|(score, (new, old))| *score += new - old);
            }
            Parameter::Mean(g, y) | Parameter::Deviation(g, y) => {
                let ((base, linear, quadratic), old) = (moved.emission(g, y), model.emission(g, y));
                let (base, linear, quadratic) = (base - old.0, linear - old.1, quadratic - old.2);
                chain.moved.iter_mut().skip(y).step_by(n_labels).for_each(|score| *score += base);
                let from = chain.values.partition_point(|entry| (entry.0 as usize) < g);
                for &(_, t, value) in chain.values[from..].iter().take_while(|entry| entry.0 as usize == g) {
                    chain.moved[t as usize * n_labels + y] += value * (linear + value * quadratic);
                }
            }
        })
    }

    /// Accepts the model that was tried.
    fn accept(&mut self) {
        self.chains.iter_mut().for_each(|chain| std::mem::swap(&mut chain.node, &mut chain.moved));
    }

    /// Log p(Y | X) under a model whose scores are the present ones after an edit, summed in the
    /// order of the sequences.
    fn sum(&mut self, model: &HmmModel, edit: impl Fn(&mut Chain) + Sync) -> Result<f64> {
        let (inference, labels) = (self.problem.inference, model.start.len());
        let (starts, version) = ([0, labels * labels], TableVersion::of(&model.transition));
        let tables = Tables {
            values: &model.transition,
            starts: &starts,
            of_edge: EdgeTables::Shared,
            relations: &[],
            version,
        };
        let each = self.chains.par_iter_mut().map(|chain| {
            chain.moved.copy_from_slice(&chain.node);
            edit(chain);
            let shape = Shape::Chain { len: chain.truth.len(), labels };
            let p = Potentials::new(shape, &mut chain.moved, tables)?;
            let beliefs = &mut Beliefs { node: &mut chain.marginals, edge: EdgeBeliefs::None };
            let log_z = inference.infer(&p, beliefs, &mut chain.scratch)?.value;
            Ok(chain.weight * (p.score(&chain.truth) - log_z))
        });
        Ok(each.collect::<Result<Vec<f64>>>()?.iter().sum())
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

/// All parameters of a model, each with the direction to try first.
fn parameters(model: &HmmModel) -> Vec<(Parameter, f64)> {
    let labels = || 0..model.start.len();
    let emitted = model
        .emitted()
        .flat_map(|g| labels().flat_map(move |y| [Parameter::Mean(g, y), Parameter::Deviation(g, y)]));
    let chain = labels().flat_map(|i| {
        std::iter::once(Parameter::Start(i)).chain(labels().map(move |j| Parameter::Transition(i, j)))
    });
    emitted.chain(chain).map(|parameter| (parameter, 1.0)).collect()
}

impl Parameter {
    fn shift(self, model: &mut HmmModel, step: f64, sigma_floor: f64) {
        let n = model.start.len();
        match self {
            Parameter::Start(y) => shift_log(&mut model.start, y, step),
            Parameter::Transition(i, j) => shift_log(&mut model.transition[i * n..(i + 1) * n], j, step),
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

    /// Copies all numbers that a shift of this parameter changes.
    fn copy(self, from: &HmmModel, to: &mut HmmModel) {
        let n = from.start.len();
        match self {
            Parameter::Start(_) => to.start.copy_from_slice(&from.start),
            Parameter::Transition(i, _) => {
                let row = i * n..(i + 1) * n;
                to.transition[row.clone()].copy_from_slice(&from.transition[row]);
            }
            Parameter::Mean(g, y) | Parameter::Deviation(g, y) => to.set_emission(g, y, from.emission(g, y)),
        }
    }
}

/// Emissions, as training changes them one by one.
impl HmmModel {
    /// Score of a label when every function is 0, and the factors of x and x² of a function given
    /// that label.
    fn emission(&self, g: usize, y: usize) -> (f64, f64, f64) {
        let index = g * self.start.len() + y;
        (self.base[y], self.linear[index], self.quadratic[index])
    }

    /// Sets the numbers that [`emission`](Self::emission) returns.
    fn set_emission(&mut self, g: usize, y: usize, (base, linear, quadratic): (f64, f64, f64)) {
        let index = g * self.start.len() + y;
        (self.base[y], self.linear[index], self.quadratic[index]) = (base, linear, quadratic);
    }

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

/// Multiplies one of several probabilities, given as logarithms, by exp(step), and normalises them.
fn shift_log(log_p: &mut [f64], index: usize, step: f64) {
    log_p[index] += step;
    let log_sum = log_p.iter().map(|log_p| log_p.exp()).sum::<f64>().ln();
    log_p.iter_mut().for_each(|log_p| *log_p -= log_sum);
}
