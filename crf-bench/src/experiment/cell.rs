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

/// What came of one method at one point of the sweep in one trial.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cell {
    /// The number of the method.
    pub method: usize,
    /// The number of the sweep point.
    pub point: usize,
    /// The trial, from 1.
    pub trial: u32,
    /// The seed of the learner, shortened.
    pub seed: String,
    /// The value of each metric.
    pub metrics: Vec<f64>,
    /// How many features the model has.
    pub features: usize,
    /// Why training ended.
    pub stop: Stop,
    /// How many iterations it took.
    pub iterations: usize,
    /// How long it all took.
    pub seconds: Seconds,
    /// The candidates of the selector, if the experiment asks for paths.
    pub path: Vec<PathPoint>,
}

/// How long the parts of a cell took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// Drawing or reading the data, which all methods share.
    pub data: f64,
    /// Fitting and evaluating the observation functions.
    pub encode: f64,
    /// Selection and training.
    pub train: f64,
    /// What of this was done for another method, which asked the same of the same selector.
    pub shared: f64,
    /// Predicting and measuring.
    pub evaluate: f64,
}

/// Runs the methods that are `missing` on the data of one point and trial, and shows each cell to `keep`.
///
/// A cell depends on the config and its own name only: seeds come from names, never from what ran before.
pub(crate) fn run_methods(
    plan: &Plan,
    point: usize,
    trial: u32,
    missing: &dyn Fn(usize) -> bool,
    keep: &dyn Fn(&Cell) -> Result<()>,
) -> Result<Vec<Cell>> {
    let settings = &plan.points[point].settings;
    let root = Seed::new(plan.experiment.seed);
    let of_data = settings.filter(|key| key == "dataset" || key.starts_with("dataset."));
    let data_seed = root.child("data").child(&format!("trial {trial}")).child(&of_data.to_string());
    let clock = Instant::now();
    let source = &*plan.points[point].dataset;
    let splits = source.load(&data_seed).map_err(|error| explained(error, source));
    let splits = splits.map_err(|source| Error::Cell { cell: place("dataset", settings, trial), source })?;
    let data = Data::new(splits, clock.elapsed().as_secs_f64());
    let mut selections = SelectionCache::default();
    let methods = plan.points[point].methods.iter().enumerate().filter(|(number, _)| missing(*number));
    let cells = methods.map(|(number, (name, method))| {
        let of_trial = |seed: Seed| seed.child(&format!("trial {trial}")).child(&settings.to_string());
        let seed = of_trial(root.child("learner").child(name));
        let of_selection = of_trial(root.child("selector"));
        let cell = place(&format!("method {name}"), settings, trial);
        let method = (method, &mut selections, of_selection);
        match run_method(method, &data, seed, &cell, &plan.experiment) {
            Ok(outcome) => {
                let cell = Cell { method: number, point, trial, ..outcome };
                keep(&cell).map(|()| cell)
            }
            Err(source) => Err(Error::Cell { cell, source }),
        }
    });
    cells.collect()
}

/// What a cell is called in messages.
pub(crate) fn place(what: &str, settings: &SweepValues, trial: u32) -> String {
    match settings.is_empty() {
        true => format!("{what}, trial {trial}"),
        false => format!("{what}, {settings}, trial {trial}"),
    }
}

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

fn run_method(
    (method, selections, of_selection): (&Method, &mut SelectionCache, Seed),
    data: &Data,
    seed: Seed,
    cell: &str,
    experiment: &Experiment,
) -> crf_core::Result<Cell> {
    let mut seconds = Seconds { data: data.seconds, ..Seconds::default() };
    let clock = Instant::now();
    let features = method.fit_features(&data.train)?;
    let forbidden = method.forbidden(features.schema())?;
    let (train, valid) = (data.train.clone(), data.holdout.clone());
    let prepared = Prepared::with_features(features, None, train, valid, &encode)?;
    let test = encode(&prepared.features, data.test.clone())?;
    seconds.encode = clock.elapsed().as_secs_f64();

    let problem = Problem { forbidden: forbidden.as_ref(), ..prepared.problem(&*method.inference) };
    let decode = method.decode();
    let along = |model: &dyn Model| {
        let context = problem.context(model, &test, decode)?;
        experiment.path.iter().map(|metric| metric.measure(&context)).collect()
    };
    let along: Option<&dyn Fn(&dyn Model) -> _> = Some(&along as _).filter(|_| !experiment.path.is_empty());
    let (selection, is_known) = match method.selector.keeps_all() {
        true => (SelectionCache::none(&prepared.map), false),
        false => selections.of(method, &problem, &of_selection, along)?,
    };
    let clock = Instant::now();
    let start = selection.start.as_ref().map(|model| model as &dyn Model);
    let mut observer = |iteration: &crf_core::Iteration| {
        tracing::debug!(cell, ?iteration);
        ControlFlow::Continue(())
    };
    let mut run = FitContext::new(seed, &mut observer);
    let fit = fit_selected(&problem, &selection.map, start, &*method.learner, &mut run)?;
    seconds.train = selection.seconds + clock.elapsed().as_secs_f64();
    seconds.shared = if is_known { selection.seconds } else { 0.0 };
    // That the budget ended it, as with boosting it always does, the report says once for all cells.
    if fit.trace.stop == Stop::Diverging {
        tracing::warn!(cell, "training {}", fit.trace.stop);
    }

    let clock = Instant::now();
    let context = problem.context(&*fit.model, &test, decode)?;
    let context =
        context.with_reference_inference(experiment.reference.as_deref()).with_trace(Some(&fit.trace));
    let metrics = experiment.metrics.iter().map(|metric| metric.measure(&context));
    let mut metrics = metrics.collect::<crf_core::Result<Vec<f64>>>()?;
    metrics.extend(selection_path::values(&experiment.path, &selection.path));
    seconds.evaluate = clock.elapsed().as_secs_f64();
    tracing::info!(cell, ?metrics, stop = %fit.trace.stop, "done");
    Ok(Cell {
        method: 0,
        point: 0,
        trial: 0,
        seed: seed.short(),
        metrics,
        features: fit.model.log_linear().map_or(selection.map.len(), |model| model.map().len()),
        stop: fit.trace.stop,
        iterations: fit.trace.iterations.len(),
        seconds,
        path: selection.path.clone(),
    })
}
