use crf_core::{
    Beliefs, EdgeBeliefs, Fit, Iteration, Label, Learner, Model, Next, Problem, Result, Run, Scratch, Stop,
    Trace, require,
};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hmm::{Emission, Hmm, HmmModel, complete_labels};

/// A hidden Markov model with Gaussian emissions, trained to make the labels likely given the observations (Vail 2008, §2.7.4).
///
/// It begins with the estimates of `hmm` and goes from parameter to parameter, again and again. Each is moved by a step, up or
/// down, if that raises log p(Y | X); in iteration j steps have the length `step` / √j. Distributions are normalised after
/// each step. It is meant to be compared with a CRF of the same features, which gets there in a small part of the time.
///
/// Deviations: the thesis does not print its parameters' units. A mean moves in deviations of its Gaussian; probabilities and
/// deviations are multiplied by exp(± step), so that none can become negative.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DiscriminativeHmm {
    /// Added to every count of the estimates that it begins with, as by `hmm`; at least 0.
    pub smoothing: f64,
    /// Standard deviations are at least this; above 0.
    pub sigma_floor: f64,
    /// The length of the first steps; above 0.
    pub step: f64,
    /// How often to go over all parameters; it does not end before, since shorter steps may help where longer ones did not.
    pub iterations: u32,
}

impl Default for DiscriminativeHmm {
    fn default() -> Self {
        let Hmm { smoothing, sigma_floor, .. } = Hmm::default();
        DiscriminativeHmm { smoothing, sigma_floor, step: 0.5, iterations: 30 }
    }
}

crf_core::plugin!("learner", DiscriminativeHmm, "discriminative-hmm");

#[typetag::serde(name = "discriminative-hmm")]
impl Learner for DiscriminativeHmm {
    fn check(&self) -> Result<()> {
        self.beginning().check()?;
        let positive = self.step.is_finite() && self.step > 0.0;
        require(positive, "step", "a finite number above 0", self.step)
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut Run<'_>) -> Result<Fit> {
        let truth = complete_labels(problem.train)?;
        let mut model = self.beginning().estimate(problem.train, problem.map)?;
        let mut parameters = parameters(&model);
        let mut value = log_likelihood(&model, problem, &truth)?;
        let (mut trace, mut evaluations) = (Vec::new(), 1);
        let mut stop = Stop::Budget;
        for iteration in 1..=self.iterations {
            let (before, step) = (value, self.step / f64::from(iteration).sqrt());
            for (parameter, sign) in &mut parameters {
                // What helped the last time is tried first.
                for direction in [*sign, -*sign] {
                    let mut moved = model.clone();
                    parameter.shift(&mut moved, direction * step, self.sigma_floor);
                    let got = log_likelihood(&moved, problem, &truth)?;
                    evaluations += 1;
                    if got > value {
                        (model, value, *sign) = (moved, got, direction);
                        break;
                    }
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
            if next == Next::Stop {
                stop = Stop::Observer;
                break;
            }
        }
        Ok(Fit { model: Box::new(model), trace: Trace { iterations: trace, stop } })
    }
}

impl DiscriminativeHmm {
    fn beginning(&self) -> Hmm {
        let DiscriminativeHmm { smoothing, sigma_floor, .. } = *self;
        Hmm { emission: Emission::Gaussian, smoothing, sigma_floor, ..Hmm::default() }
    }
}

/// log p(Y | X) of the training data, summed in the order of the sequences.
fn log_likelihood(model: &HmmModel, problem: &Problem<'_>, truth: &[Label]) -> Result<f64> {
    let (x, bound) = (problem.train, model.bind(problem.train)?);
    let each = (0..x.len()).into_par_iter().map_init(
        || (Scratch::new(), Scratch::new(), Vec::new()),
        |(memory, scratch, node), i| {
            let p = bound.fill(i, memory)?;
            node.resize(p.node().len(), 0.0);
            let beliefs = &mut Beliefs { node, edge: EdgeBeliefs::None };
            let log_z = problem.inference.infer(&p, beliefs, scratch)?.value;
            Ok(x.data().weight(i) * (p.score(&truth[x.data().range(i)]) - log_z))
        },
    );
    Ok(each.collect::<Result<Vec<f64>>>()?.iter().sum())
}

/// One number of a hidden Markov model.
#[derive(Debug, Clone, Copy)]
enum Parameter {
    Start(usize),
    Transition(usize, usize),
    /// Of a function given a label.
    Mean(usize, usize),
    Deviation(usize, usize),
}

/// All parameters of a model, each with the direction that is tried first.
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
}

/// Multiplies one of several probabilities, given by their logarithms, by exp(step), and makes their sum one again.
fn shift_log(log_p: &mut [f64], at: usize, step: f64) {
    log_p[at] += step;
    let log_sum = log_p.iter().map(|log_p| log_p.exp()).sum::<f64>().ln();
    log_p.iter_mut().for_each(|log_p| *log_p -= log_sum);
}
