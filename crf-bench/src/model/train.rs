use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use crf_core::{Dataset, Error as CoreError, FitContext, Iteration, Model, Problem, Seed};
use serde::Serialize;

use crate::config::{Training, usual_features};
use crate::error::{Error, Result};
use crate::experiment::encoding::encode;
use crate::model::file::{ModelContents, ModelFile};

/// How long the parts of a training took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Seconds {
    /// Reading the data.
    pub(crate) read: f64,
    /// Choosing settings by cross-validation, if any were to be chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tune: Option<f64>,
    /// Fitting and evaluating the observation functions.
    pub(crate) features: f64,
    /// Training.
    pub(crate) train: f64,
}

/// Trains a model; with one to start from, its features and labels stay, and `config` must list the former.
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
        start.map(|start| (start.content.features, start.content.model)).unzip();
    let features = match (fitted, config.features.take()) {
        (Some(fitted), listed) => {
            config.features = listed;
            fitted
        }
        (None, Some(features)) => config.features.insert(features).fit(&data)?,
        (None, None) => config.features.insert(usual_features(data.schema())?).fit(&data)?,
    };
    config.decode = Some(config.decode());
    let forbidden = config.forbidden(features.schema())?;
    let train = encode(&features, data)?;
    let map = match start.as_ref().and_then(|model| model.log_linear()) {
        Some(model) => model.map().clone(),
        None => Arc::new(features.map(&train)?),
    };
    if map.is_empty() {
        return Err(CoreError::data(
            "none of the features applies to the data, so there is nothing to train",
        )
        .into());
    }
    let valid = holdout.map(|data| encode(&features, data)).transpose()?;
    seconds.features = clock.elapsed().as_secs_f64();

    let clock = Instant::now();
    let problem = Problem {
        valid: valid.as_ref(),
        start: start.as_deref(),
        forbidden: forbidden.as_ref(),
        ..Problem::new(&train, &map, &*config.inference)
    };
    let seed = Seed::new(config.seed).child("learner");
    let mut watch = |iteration: &Iteration| {
        tracing::debug!(?iteration);
        observer(iteration)
    };
    let mut fit = config.learner.fit(&problem, &mut FitContext::new(seed, &mut watch))?;
    seconds.train = clock.elapsed().as_secs_f64();
    // The same data and config make the same file; the times are the observer's.
    fit.trace.iterations.iter_mut().for_each(|iteration| iteration.seconds = 0.0);
    let content = ModelContents {
        features,
        model: fit.model,
        config: config.to_toml()?,
        digest,
        toolkit: env!("CARGO_PKG_VERSION").to_owned(),
        trace: fit.trace,
    };
    let file = ModelFile::new(content).map_err(Error::format("config"))?;
    Ok(match forbidden {
        Some(forbidden) => file.constrained(forbidden),
        None => file,
    })
}
