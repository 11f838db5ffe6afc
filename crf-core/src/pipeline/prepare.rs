use std::sync::Arc;

use crate::data::dataset::Dataset;
use crate::error::{Error, Result};
use crate::evaluation::predict::Decode;
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::feature_map::FeatureMap;
use crate::features::fitted::FittedFeatures;
use crate::features::spec::Features;
use crate::features::units::{feature_units, warn_of_units};
use crate::inference::algorithm::Inference;
use crate::learning::learner::{Fit, FitContext, Learner, Problem};
use crate::learning::selector::Selector;
use crate::models::model::Model;
use crate::pipeline::choose::{Chosen, choose};

/// Function that encodes a dataset, and may show its progress.
pub type Encode<'e> = dyn Fn(&FittedFeatures, Arc<Dataset>) -> Result<EncodedDataset> + 'e;

/// Prepared data for selection and learning: features fitted, sequences encoded, weights numbered.
#[derive(Debug)]
pub struct Prepared {
    /// Fitted features.
    pub features: FittedFeatures,
    /// Encoded training data.
    pub train: EncodedDataset,
    /// Encoded validation data.
    pub valid: Option<EncodedDataset>,
    /// Map of all candidate features.
    pub map: Arc<FeatureMap>,
}

impl Prepared {
    /// Fits features on the training data and encodes all data.
    pub fn fit(
        features: &Features,
        train: Arc<Dataset>,
        valid: Option<Arc<Dataset>>,
        encode: &Encode<'_>,
    ) -> Result<Self> {
        Prepared::with_features(features.fit(&train)?, None, train, valid, encode)
    }

    /// Encodes data by features that are fitted already. `map` numbers their weights; without it,
    /// the training data do.
    pub fn with_features(
        features: FittedFeatures,
        map: Option<Arc<FeatureMap>>,
        train: Arc<Dataset>,
        valid: Option<Arc<Dataset>>,
        encode: &Encode<'_>,
    ) -> Result<Self> {
        let train = encode(&features, train)?;
        let map = match map {
            Some(map) => map,
            None => Arc::new(features.map(&train)?),
        };
        let valid = valid.map(|data| encode(&features, data)).transpose()?;
        Ok(Prepared { features, train, valid, map })
    }

    /// Problem of learning the weights of all features from the training data.
    pub fn problem<'a>(&'a self, inference: &'a dyn Inference) -> Problem<'a> {
        Problem { valid: self.valid.as_ref(), ..Problem::new(&self.train, &self.map, inference) }
    }
}

/// Encodes a dataset without showing progress.
pub fn encode(features: &FittedFeatures, data: Arc<Dataset>) -> Result<EncodedDataset> {
    features.encode(data)
}

/// Trained model, and the selection before it.
#[derive(Debug)]
pub struct Trained {
    /// Model and the course of its training.
    pub fit: Fit,
    /// Selection; `None` if all features were kept.
    pub chosen: Option<Chosen>,
}

/// Selects features and trains a model of the survivors, starting from the weights of the selector.
pub fn select_and_fit(
    problem: &Problem<'_>,
    selector: &dyn Selector,
    learner: &dyn Learner,
    decode: Decode,
    run: &mut FitContext<'_>,
) -> Result<Trained> {
    if selector.keeps_all() {
        if learner.heeds_sizes() {
            warn_of_units(problem.map, &feature_units(problem.map, problem.train));
        }
        return Ok(Trained { fit: learner.fit(problem, run)?, chosen: None });
    }
    if problem.start.is_some() {
        return Err(Error::data(
            "a model to start from has its features already: select none, or start anew",
        ));
    }
    let mut selection = run.child("selector");
    let chosen = choose(selector, learner, decode, problem, &mut selection)?;
    let fit = fit_selected(
        problem,
        &chosen.map,
        chosen.model.as_ref().map(|model| model as &dyn Model),
        learner,
        run,
    )?;
    Ok(Trained { fit, chosen: Some(chosen) })
}

/// Trains a model of selected features.
pub fn fit_selected(
    problem: &Problem<'_>,
    map: &Arc<FeatureMap>,
    start: Option<&dyn Model>,
    learner: &dyn Learner,
    run: &mut FitContext<'_>,
) -> Result<Fit> {
    learner.fit(&Problem { map, start, ..*problem }, run)
}
