//! The training of one model.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use crf_core::{
    Dataset, Error as CoreError, FitContext, Iteration, Model, Prepared, Problem, Seed, select_and_fit,
};
use serde::Serialize;

use crate::config::Training;
use crate::error::{Error, Result};
use crate::experiment::encoding::encode;
use crate::model::file::{ModelContents, ModelFile};

/// The seconds that the parts of a training took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Seconds {
    /// Reading the data.
    pub(crate) read: f64,
    /// Cross-validation, if the config has `tune`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tune: Option<f64>,
    /// Fitting and evaluating the observation functions.
    pub(crate) features: f64,
    /// Training.
    pub(crate) train: f64,
}

/// Trains a model. A model to start from passes on its features and labels; `config` must list
/// these features.
pub(crate) fn train(
    mut config: Training,
    data: Arc<Dataset>,
    holdout: Option<Arc<Dataset>>,
    start: Option<ModelFile>,
    digest: String,
    seconds: &mut Seconds,
    observer: &mut (dyn FnMut(&Iteration) -> ControlFlow<()> + Send),
) -> Result<ModelFile> {
    let clock = Instant::now();
    let (fitted, start): (_, Option<Box<dyn Model>>) =
        start.map(|start| (start.contents.features, start.contents.model)).unzip();
    config.method.complete(fitted.as_ref().map_or(data.schema(), |fitted| fitted.schema()));
    let method = &config.method;
    let features = match fitted {
        Some(fitted) => fitted,
        None => method.fit_features(&data)?,
    };
    let forbidden = method.forbidden(features.schema())?;
    let map = start.as_ref().and_then(|model| model.log_linear()).map(|model| model.map().clone());
    let prepared = Prepared::with_features(features, map, data, holdout, &encode)?;
    if prepared.map.is_empty() {
        return Err(CoreError::data(
            "none of the features applies to the data, so there is nothing to train",
        )
        .into());
    }
    seconds.features = clock.elapsed().as_secs_f64();

    let clock = Instant::now();
    let problem = Problem {
        start: start.as_deref(),
        forbidden: forbidden.as_ref(),
        ..prepared.problem(&*method.inference)
    };
    let seed = Seed::new(config.seed).child("learner");
    let mut watch = |iteration: &Iteration| {
        tracing::debug!(?iteration);
        observer(iteration)
    };
    let mut run = FitContext::new(seed, &mut watch);
    let trained = select_and_fit(&problem, &*method.selector, &*method.learner, method.decode(), &mut run)?;
    let mut fit = trained.fit;
    seconds.train = clock.elapsed().as_secs_f64();
    // The same data and config make the same file, so that times are dropped; the observer has seen
    // them.
    fit.trace.iterations.iter_mut().for_each(|iteration| iteration.seconds = 0.0);
    let contents = ModelContents {
        features: prepared.features,
        model: fit.model,
        config: config.to_toml()?,
        digest,
        toolkit: env!("CARGO_PKG_VERSION").to_owned(),
        trace: fit.trace,
    };
    let file = ModelFile::new(contents).map_err(Error::format("config"))?;
    Ok(match forbidden {
        Some(forbidden) => file.constrained(forbidden),
        None => file,
    })
}
