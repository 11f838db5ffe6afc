//! One cell of an experiment: a method, trained and measured on the data of one point and trial.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use crf_core::{FitContext, Model, Prepared, Problem, Seed, Splits, Stop, fit_selected};
use serde::{Deserialize, Serialize};

use crate::config::{Experiment, Method, Plan, SweepValues};
use crate::error::{Error, Result};
use crate::experiment::encoding::encode;
use crate::experiment::selection_cache::SelectionCache;
use crate::public_data::explained;
use crate::results::selection_path::{self, PathPoint};

/// The result of one method at one point of the sweep in one trial.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cell {
    /// The index of the method.
    pub method: usize,
    /// The index of the sweep point.
    pub point: usize,
    /// The trial, from 1.
    pub trial: u32,
    /// The seed of the learner, shortened.
    pub seed: String,
    /// The value of each metric.
    pub metrics: Vec<f64>,
    /// The number of features of the model.
    pub features: usize,
    /// The reason why training stopped.
    pub stop: Stop,
    /// The number of iterations of training.
    pub iterations: usize,
    /// The time of each part.
    pub seconds: Seconds,
    /// The candidates of the selector; empty unless the experiment has a `path`.
    pub path: Vec<PathPoint>,
}

/// The seconds that the parts of a cell took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// Drawing or reading the data, which all methods share.
    pub data: f64,
    /// Fitting and evaluating the observation functions.
    pub encode: f64,
    /// Selection and training.
    pub train: f64,
    /// Of `train`: selection time reused from another method with the same selector and settings.
    pub shared: f64,
    /// Predicting and measuring.
    pub evaluate: f64,
}

/// Runs the methods that are `missing` on the data of one point and trial, and passes each finished
/// cell to `keep`.
///
/// A cell depends only on the config and on its own name: seeds come from names, never from what
/// ran before.
pub(crate) fn run_methods(
    plan: &Plan,
    point: usize,
    trial: u32,
    missing: &dyn Fn(usize) -> bool,
    keep: &dyn Fn(&Cell) -> Result<()>,
) -> Result<Vec<Cell>> {
    let settings = &plan.points[point].settings;
    let root = Seed::new(plan.experiment.seed);
    let data_settings = settings.filter(|key| key == "dataset" || key.starts_with("dataset."));
    let data_seed = root.child("data").child(&format!("trial {trial}")).child(&data_settings.to_string());
    let clock = Instant::now();
    let source = &*plan.points[point].dataset;
    let splits = source.load(&data_seed).map_err(|error| explained(error, source));
    let splits =
        splits.map_err(|source| Error::Cell { cell: cell_name("dataset", settings, trial), source })?;
    let data = Data::new(splits, clock.elapsed().as_secs_f64());
    let mut selections = SelectionCache::default();
    let methods = plan.points[point].methods.iter().enumerate().filter(|(index, _)| missing(*index));
    let cells = methods.map(|(index, (name, method))| {
        let trial_seed = |seed: Seed| seed.child(&format!("trial {trial}")).child(&settings.to_string());
        let task = CellTask {
            name: cell_name(&format!("method {name}"), settings, trial),
            indices: (index, point, trial),
            method,
            learner_seed: trial_seed(root.child("learner").child(name)),
            selection_seed: trial_seed(root.child("selector")),
        };
        match run_method(&task, &data, &mut selections, &plan.experiment) {
            Ok(cell) => keep(&cell).map(|()| cell),
            Err(source) => Err(Error::Cell { cell: task.name, source }),
        }
    });
    cells.collect()
}

/// The name of a cell in messages: what failed, the settings of the sweep, and the trial.
pub(crate) fn cell_name(what: &str, settings: &SweepValues, trial: u32) -> String {
    match settings.is_empty() {
        true => format!("{what}, trial {trial}"),
        false => format!("{what}, {settings}, trial {trial}"),
    }
}

/// A cell that is to be run.
struct CellTask<'a> {
    /// The name in messages.
    name: String,
    /// The index of the method, the index of the point, and the trial.
    indices: (usize, usize, u32),
    method: &'a Method,
    learner_seed: Seed,
    selection_seed: Seed,
}

/// The data of one point and trial, which all methods share.
struct Data {
    train: Arc<crf_core::Dataset>,
    holdout: Option<Arc<crf_core::Dataset>>,
    test: Arc<crf_core::Dataset>,
    seconds: f64,
}

impl Data {
    fn new(Splits { train, holdout, test }: Splits, seconds: f64) -> Self {
        Data { train: train.into(), holdout: holdout.map(Arc::new), test: test.into(), seconds }
    }
}

/// Selects features, trains a model and measures it on the test data.
fn run_method(
    task: &CellTask<'_>,
    data: &Data,
    selections: &mut SelectionCache,
    experiment: &Experiment,
) -> crf_core::Result<Cell> {
    let CellTask { name, method, .. } = task;
    let mut seconds = Seconds { data: data.seconds, ..Seconds::default() };
    for metric in experiment.metrics.iter().chain(&experiment.path) {
        metric.check_labels(data.train.schema())?;
    }
    let clock = Instant::now();
    let features = method.fit_features(&data.train)?;
    let forbidden = method.forbidden(features.schema())?;
    if let Some(forbidden) = &forbidden {
        forbidden.check(&data.train).map_err(|error| error.at("the training data"))?;
        data.holdout.iter().try_for_each(|holdout| forbidden.check(holdout))?;
    }
    let (train, valid) = (data.train.clone(), data.holdout.clone());
    let prepared = Prepared::with_features(features, None, train, valid, &encode)?;
    let test = encode(&prepared.features, data.test.clone())?;
    seconds.encode = clock.elapsed().as_secs_f64();

    let problem = Problem { forbidden: forbidden.as_ref(), ..prepared.problem(&*method.inference) };
    let decode = method.decode();
    let measure = |model: &dyn Model| {
        let context = problem.context(model, &test, decode)?;
        experiment.path.iter().map(|metric| metric.measure(&context)).collect()
    };
    let measure: Option<&dyn Fn(&dyn Model) -> _> =
        Some(&measure as _).filter(|_| !experiment.path.is_empty());
    let (selection, is_known) = match method.selector.keeps_all() {
        true => (SelectionCache::all_features(&prepared.map), false),
        false => selections.get_or_select(method, &problem, &task.selection_seed, measure)?,
    };
    let clock = Instant::now();
    let start = selection.start.as_ref().map(|model| model as &dyn Model);
    let mut observer = |iteration: &crf_core::Iteration| {
        tracing::debug!(cell = %name, ?iteration);
        ControlFlow::Continue(())
    };
    let mut run = FitContext::new(task.learner_seed, &mut observer);
    let fit = fit_selected(&problem, &selection.map, start, &*method.learner, &mut run)?;
    seconds.train = selection.seconds + clock.elapsed().as_secs_f64();
    seconds.shared = if is_known { selection.seconds } else { 0.0 };
    // The report tells once for all cells which trainings used all their iterations, as boosting
    // always does.
    if fit.trace.stop == Stop::Diverging {
        tracing::warn!(cell = %name, "training {}", fit.trace.stop);
    }

    let clock = Instant::now();
    let context = problem.context(&*fit.model, &test, decode)?;
    let context =
        context.with_reference_inference(experiment.reference.as_deref()).with_trace(Some(&fit.trace));
    let metrics = experiment.metrics.iter().map(|metric| metric.measure(&context));
    let mut metrics = metrics.collect::<crf_core::Result<Vec<f64>>>()?;
    metrics.extend(selection_path::values(&experiment.path, &selection.path));
    seconds.evaluate = clock.elapsed().as_secs_f64();
    tracing::info!(cell = %name, ?metrics, stop = %fit.trace.stop, "done");
    let (method, point, trial) = task.indices;
    Ok(Cell {
        method,
        point,
        trial,
        seed: task.learner_seed.short(),
        metrics,
        features: fit.model.log_linear().map_or(selection.map.len(), |model| model.map().len()),
        stop: fit.trace.stop,
        iterations: fit.trace.iterations.len(),
        seconds,
        path: selection.path.clone(),
    })
}
