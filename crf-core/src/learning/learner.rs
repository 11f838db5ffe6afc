use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::Seed;
use crate::error::{Error, Result};
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::feature_map::FeatureMap;
use crate::inference::algorithm::Inference;
use crate::inference::answers::Stop;
use crate::models::constraints::Forbidden;
use crate::models::model::{BoundModel, Model};

/// Learning algorithm: fits a model to labelled data.
#[typetag::serde(tag = "type")]
pub trait Learner: Debug + Send + Sync {
    /// Rejects settings that can never work, before any data is read.
    fn check(&self) -> Result<()>;
    /// True if training uses validation data, to stop early or to choose; `crf train` then sets
    /// some aside.
    fn watches_validation(&self) -> bool {
        false
    }
    /// True if its steps or penalties treat all weights alike, so that features should be of like
    /// size.
    fn heeds_sizes(&self) -> bool {
        false
    }
    /// True if training fits a distribution; false if it only puts the true labels first, so that
    /// probabilities of the model mean little.
    fn fits_probabilities(&self) -> bool {
        true
    }
    /// Trains a model.
    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit>;
}

/// Learning problem: data, features, inference and constraints.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// Encoded training data.
    pub train: &'a EncodedDataset,
    /// Encoded validation data, for choices made during training.
    pub valid: Option<&'a EncodedDataset>,
    /// Features that the model may have.
    pub map: &'a Arc<FeatureMap>,
    /// Inference for expectations and decoding.
    pub inference: &'a dyn Inference,
    /// Model whose weights training starts from.
    pub start: Option<&'a dyn Model>,
    /// Constraints under which data are labelled.
    pub forbidden: Option<&'a Forbidden>,
}

impl<'a> Problem<'a> {
    /// Problem without validation data, start model and constraints.
    pub fn new(train: &'a EncodedDataset, map: &'a Arc<FeatureMap>, inference: &'a dyn Inference) -> Self {
        Problem { train, valid: None, map, inference, start: None, forbidden: None }
    }

    /// Binds a model to an encoded dataset under the problem's constraints.
    pub fn bind<'m>(
        &self,
        model: &'m dyn Model,
        encoded: &'m EncodedDataset,
    ) -> Result<Box<dyn BoundModel + 'm>>
    where
        'a: 'm,
    {
        bind_under(self.forbidden, model, encoded)
    }

    /// Weights of the start model, or zeros.
    pub fn start_weights(&self) -> Result<Vec<f64>> {
        match self.start.map(|model| model.log_linear()) {
            None => Ok(vec![0.0; self.map.len()]),
            Some(Some(model)) if model.map() == self.map => Ok(model.weights().to_vec()),
            Some(_) => Err(Error::data("the model to start from has other features than the one to train")),
        }
    }
}

/// Binds a model to an encoded dataset, under constraints if there are any.
pub(crate) fn bind_under<'m>(
    forbidden: Option<&'m Forbidden>,
    model: &'m dyn Model,
    encoded: &'m EncodedDataset,
) -> Result<Box<dyn BoundModel + 'm>> {
    forbidden.map_or_else(|| model.bind(encoded), |forbidden| forbidden.bind(model, encoded))
}

/// Context of a training run: its seed and its observer.
pub struct FitContext<'a> {
    /// Seed of all randomness.
    pub seed: Seed,
    observer: &'a mut dyn FnMut(&Iteration) -> ControlFlow<()>,
    began: Instant,
}

impl<'a> FitContext<'a> {
    /// Context whose iterations are shown to `observer`, who may stop the run.
    pub fn new(seed: Seed, observer: &'a mut dyn FnMut(&Iteration) -> ControlFlow<()>) -> Self {
        FitContext { seed, observer, began: Instant::now() }
    }

    /// Context of a run within this one, whose seed is the child `name`.
    pub fn child(&mut self, name: &str) -> FitContext<'_> {
        FitContext { seed: self.seed.child(name), observer: &mut *self.observer, began: self.began }
    }

    /// Shows an iteration to the observer.
    pub fn observe(&mut self, iteration: &Iteration) -> ControlFlow<()> {
        (self.observer)(iteration)
    }

    /// Seconds since the run began.
    pub fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

impl Debug for FitContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FitContext").field("seed", &self.seed).finish_non_exhaustive()
    }
}

/// Entry of a training trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Iteration {
    /// Number of the iteration, counted from 1.
    pub iteration: u32,
    /// Objective with its penalty, which the learner minimises.
    pub objective: f64,
    /// Norm of the (pseudo-)gradient.
    pub gradient_norm: f64,
    /// Number of weights that are not zero.
    pub non_zeros: usize,
    /// Number of evaluations of the objective so far.
    pub evaluations: u32,
    /// Loss on the validation data, if they are watched.
    pub holdout: Option<f64>,
    /// Lower bound on the minimum of the objective, if the learner has a dual problem.
    pub dual: Option<f64>,
    /// Seconds since training began.
    pub seconds: f64,
}

impl Iteration {
    /// Upper bound on the distance of the objective from its minimum, if the learner knows one.
    pub fn gap(&self) -> Option<f64> {
        self.dual.map(|dual| self.objective - dual)
    }
}

/// Course of a training run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Entry of each iteration; none for a learner that does not iterate.
    pub iterations: Vec<Iteration>,
    /// Reason for the end.
    pub stop: Stop,
}

/// Trained model with the course of its training.
#[derive(Debug)]
pub struct Fit {
    /// Model.
    pub model: Box<dyn Model>,
    /// Course of its training.
    pub trace: Trace,
}
