use std::sync::Arc;

use crf_core::{
    Error, Fit, FitContext, Learner, LogLinear, Problem, Result, Stop, Trace, require, require_memory,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::log_linear::minimisation::Minimisation;
use crate::neural::feed_forward::FeedForwardNet;
use crate::neural::model::NeuralModel;
use crate::neural::objectives::{Classifier, Joint};
use crate::objectives::fixed_scores::FixedScores;
use crate::objectives::likelihood::LikelihoodObjective;
use crate::objectives::objective::Objective;
use crate::objectives::pseudo_likelihood::PseudoLikelihoodObjective;
use crate::optimizers::adam::Adam;
use crate::optimizers::optimizer::{StopRule, minimise};
use crate::optimizers::penalised::{Penalised, Penalty};
use crate::training::early_stopping::EarlyStopping;

/// A chain, or another graph, whose node potentials are the outputs of a feed-forward net (Do &
/// Artières 2010).
///
/// The net reads the values of the state functions, whatever labels they have features for, and has
/// hidden layers of rectified units; its biases take the place of constant functions. Transition
/// features have weights as in other models. With `training = "classifier"` the trace has the
/// epochs of the net, then the iterations of the transition weights, each with its own objective.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NeuralChain {
    /// Number of units of each hidden layer; with no layer the model is linear.
    pub hidden: Vec<usize>,
    /// True if labels have a bias in the output layer.
    pub output_bias: bool,
    /// Dropout: probability that a hidden unit is inactive in a training step; at least 0 and below
    /// 1.
    pub dropout: f64,
    /// Parts that are trained together.
    pub training: TrainingMode,
    /// Passes over the training data; at least 1.
    pub epochs: u32,
    /// Optimizer of the net; a batch is of positions, or of sequences with `training = "joint"`.
    pub adam: Adam,
    /// λ₂, factor of the penalty (λ₂/2)‖w‖² on the weights that are trained with the net; at least
    /// 0.
    pub l2: f64,
    /// Early stopping: epochs without improvement on the validation data (in the objective) before
    /// stopping; the best weights are kept. 0 disables it.
    pub patience: u32,
    /// Training of the transition weights of a net that was trained as a classifier.
    pub pairwise: Pairwise,
}

/// Parts that are trained together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TrainingMode {
    /// The net first, as a classifier of single positions; then, with the net fixed, the transition
    /// weights.
    #[default]
    Classifier,
    /// The net and the transition weights, by the likelihood of whole sequences.
    Joint,
}

/// Training of transition weights while the net stays fixed.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Pairwise {
    /// Objective of the transition weights.
    pub by: By,
    /// Settings of all learners that minimise an objective.
    #[serde(flatten)]
    pub minimisation: Minimisation,
}

/// Objective for transition weights.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The likelihood, as for `mle`.
    #[default]
    Likelihood,
    /// The pseudo-likelihood, as for `pseudo-likelihood`.
    PseudoLikelihood,
}

impl Default for NeuralChain {
    fn default() -> Self {
        NeuralChain {
            hidden: vec![256],
            output_bias: true,
            dropout: 0.0,
            training: TrainingMode::default(),
            epochs: 20,
            adam: Adam { rate: 0.001, batch: 128, ..Adam::default() },
            l2: 0.0,
            patience: 0,
            pairwise: Pairwise::default(),
        }
    }
}

crf_core::plugin!(
    "learner",
    NeuralChain,
    "neural-chain",
    example = r#"
hidden = [16]
epochs = 5

[pairwise]
by = "pseudo-likelihood"
optimizer = { type = "adam", rate = 0.09, batch = 5 }
stop = { iterations = 20 }
"#
);

#[typetag::serde(name = "neural-chain")]
impl Learner for NeuralChain {
    fn check(&self) -> Result<()> {
        use crate::optimizers::optimizer::Optimizer as _;
        if let Some(size) = self.hidden.iter().find(|size| !(1..=1 << 16).contains(*size)) {
            return Err(Error::setting("hidden", "sizes from 1 to 65536", size));
        }
        let share = (0.0..1.0).contains(&self.dropout);
        require(share, "dropout", "at least 0 and below 1", self.dropout)?;
        require(self.epochs > 0, "epochs", "at least 1", self.epochs)?;
        self.penalty().check()?;
        self.adam.check().map_err(|error| error.at("`adam`"))?;
        self.pairwise.minimisation.check().map_err(|error| error.at("`pairwise`"))
    }

    fn watches_validation(&self) -> bool {
        self.patience > 0
    }

    fn heeds_sizes(&self) -> bool {
        true
    }

    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit> {
        let (map, schema, seed) = (problem.map, problem.map.schema(), run.seed);
        let refuse = |what: &str| Err(Error::Unsupported { tag: "neural-chain", what: what.into() });
        if schema.kinds().len() > 1 {
            return refuse("has one net, so positions must be of one kind; `mle` takes several");
        }
        if problem.start.is_some() {
            return refuse("draws the weights it begins with; leave out the model to start from");
        }
        let n_state = map.state().len();
        let pairs = Arc::new(map.narrow(|k| k >= n_state).0);
        let net = FeedForwardNet::new(map.state(), &self.hidden, schema.n_labels(0), self.output_bias);
        let bytes = 8.0 * VECTORS * net.len() as f64;
        require_memory(
            bytes,
            &format!("training a net of {} weights", net.len()),
            "use smaller `hidden` layers",
        )?;
        let mut w = net.draw(&mut seed.child("net").rng());
        let problem = Problem { map: &pairs, ..*problem };
        let (trace, pair_weights) = match self.training {
            TrainingMode::Joint => {
                w.resize(net.len() + pairs.len(), 0.0);
                let trace =
                    self.train(|on| Joint::new(&net, on, self.dropout, &seed), &mut w, &problem, run)?;
                let pair_weights = w.split_off(net.len());
                (trace, pair_weights)
            }
            TrainingMode::Classifier => {
                let trace = self.train(
                    |on| Classifier::new(&net, on.train, self.dropout, &seed),
                    &mut w,
                    &problem,
                    run,
                )?;
                self.train_pairs(&net, &w, trace, &problem, run)?
            }
        };
        let model = NeuralModel::new(net, w, LogLinear::new(pairs.clone(), pair_weights)?);
        Ok(Fit { model: Box::new(model), trace })
    }
}

/// Number of vectors as long as the weights that training holds at least: of the present and the
/// best point, of the optimizer, and of two shards.
const VECTORS: f64 = 9.0;

impl NeuralChain {
    fn penalty(&self) -> Penalty {
        Penalty { l1: 0.0, l2: self.l2, exempt_intercepts: false }
    }

    /// Trains the net, and the weights that are trained with it, for some epochs.
    fn train<'a, O: Objective + 'a>(
        &self,
        objective: impl Fn(&Problem<'a>) -> Result<O>,
        w: &mut Vec<f64>,
        problem: &Problem<'a>,
        run: &mut FitContext<'_>,
    ) -> Result<Trace> {
        let mut f = Penalised::sparing(Vec::new(), objective(problem)?, &self.penalty());
        let rule = StopRule { iterations: self.epochs, tolerance: 0.0, delta: 0.0, ..StopRule::default() };
        let early_stopping = EarlyStopping::over_valid(self.patience, objective, problem)?;
        minimise(&mut f, w, &self.adam, &rule, early_stopping, Vec::new(), run)
    }

    /// Trains the weights of transition features while the net stays fixed.
    fn train_pairs<'a>(
        &self,
        net: &FeedForwardNet,
        w: &[f64],
        trace: Trace,
        problem: &Problem<'a>,
        run: &mut FitContext<'_>,
    ) -> Result<(Trace, Vec<f64>)> {
        let mut pair_weights = vec![0.0; problem.map.len()];
        if trace.stop == Stop::Observer || pair_weights.is_empty() {
            return Ok((trace, pair_weights));
        }
        let fixed = |on: &Problem<'_>| FixedScores(net.scores(w, on.train));
        let Pairwise { by, minimisation } = &self.pairwise;
        let trace = match by {
            By::Likelihood => {
                let objective = |on: &Problem<'a>| Ok(LikelihoodObjective::new(on)?.with(fixed(on)));
                minimisation.minimise(objective, &mut pair_weights, trace.iterations, problem, run)?
            }
            By::PseudoLikelihood => {
                let objective = |on: &Problem<'a>| Ok(PseudoLikelihoodObjective::new(on)?.with(fixed(on)));
                minimisation.minimise(objective, &mut pair_weights, trace.iterations, problem, run)?
            }
        };
        Ok((trace, pair_weights))
    }
}
