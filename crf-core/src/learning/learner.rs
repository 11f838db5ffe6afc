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

/// Makes a model from labelled data.
#[typetag::serde(tag = "type")]
pub trait Learner: Debug + Send + Sync {
    /// Rejects settings that can never work, before any data is read.
    fn check(&self) -> Result<()>;
    /// True if training looks at validation data, to stop early or to choose; `crf train` then sets some aside.
    fn watches_validation(&self) -> bool {
        false
    }
    /// Trains a model.
    fn fit(&self, problem: &Problem<'_>, run: &mut FitContext<'_>) -> Result<Fit>;
}

/// What a learner learns from.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// Encoded training data.
    pub train: &'a EncodedDataset,
    /// Encoded data for choices made during training.
    pub valid: Option<&'a EncodedDataset>,
    /// The features the model may have.
    pub map: &'a Arc<FeatureMap>,
    /// How expectations and decodings are computed.
    pub inference: &'a dyn Inference,
    /// A model to begin with.
    pub start: Option<&'a dyn Model>,
    /// Which labellings are impossible.
    pub forbidden: Option<&'a Forbidden>,
}

impl<'a> Problem<'a> {
    /// A problem with neither validation data, nor a model to begin with, nor constraints.
    pub fn new(train: &'a EncodedDataset, map: &'a Arc<FeatureMap>, inference: &'a dyn Inference) -> Self {
        Problem { train, valid: None, map, inference, start: None, forbidden: None }
    }

    /// Binds a model to a corpus under the problem's constraints.
    pub fn bind<'m>(
        &self,
        model: &'m dyn Model,
        encoded: &'m EncodedDataset,
    ) -> Result<Box<dyn BoundModel + 'm>>
    where
        'a: 'm,
    {
        self.forbidden.map_or_else(|| model.bind(encoded), |forbidden| forbidden.bind(model, encoded))
    }

    /// The weights of the model to begin with, or zeros.
    pub fn start_weights(&self) -> Result<Vec<f64>> {
        match self.start.map(|model| model.log_linear()) {
            None => Ok(vec![0.0; self.map.len()]),
            Some(Some(model)) if model.map() == self.map => Ok(model.weights().to_vec()),
            Some(_) => Err(Error::data("the model to start from has other features than the one to train")),
        }
    }
}

/// What a training run is given beside its data: random numbers, and somebody who watches.
pub struct FitContext<'a> {
    /// Where all randomness comes from.
    pub seed: Seed,
    observer: &'a mut dyn FnMut(&Iteration) -> ControlFlow<()>,
    began: Instant,
}

impl<'a> FitContext<'a> {
    /// A run whose iterations are shown to `observer`, who may stop it.
    pub fn new(seed: Seed, observer: &'a mut dyn FnMut(&Iteration) -> ControlFlow<()>) -> Self {
        FitContext { seed, observer, began: Instant::now() }
    }

    /// A run within this one: its random numbers are those of the child `name` of the seed.
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

/// One line of a training trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Iteration {
    /// Counted from 1.
    pub iteration: u32,
    /// The objective with its penalty, which the learner minimises.
    pub objective: f64,
    /// The length of its (pseudo-)gradient.
    pub gradient_norm: f64,
    /// How many weights are not zero.
    pub non_zeros: usize,
    /// How often the objective was evaluated so far.
    pub evaluations: u32,
    /// The loss on the validation data, where they are watched.
    pub holdout: Option<f64>,
    /// A lower bound on what the objective can become, of learners that have a dual problem.
    pub dual: Option<f64>,
    /// Seconds since training began.
    pub seconds: f64,
}

impl Iteration {
    /// How far the objective may be from its minimum, of learners that know.
    pub fn gap(&self) -> Option<f64> {
        self.dual.map(|dual| self.objective - dual)
    }
}

/// How training went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// One entry per iteration; none for a learner that does not iterate.
    pub iterations: Vec<Iteration>,
    /// Why it ended.
    pub stop: Stop,
}

/// A trained model and how it came about.
#[derive(Debug)]
pub struct Fit {
    /// The model.
    pub model: Box<dyn Model>,
    /// The way there.
    pub trace: Trace,
}
