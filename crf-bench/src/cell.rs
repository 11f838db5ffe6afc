use std::sync::Arc;
use std::time::Instant;

use crf_core::{
    Corpus, Decode, FeatureMap, Inference, LogLinear, Metric, Model, Needs, Next, Problem, Run, Seed, Splits,
    Stop, Trace, evaluate,
};
use crf_select::{Tried, choose_seen};
use serde::{Deserialize, Serialize};

use crate::config::{Experiment, Method, Plan, Settings};
use crate::data_sets::explained;
use crate::encoding::encode;
use crate::error::{Error, Result};
use crate::path::{self, Step};

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
    pub path: Vec<Step>,
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
    let methods = plan.points[point].methods.iter().enumerate().filter(|(number, _)| missing(*number));
    let cells = methods.map(|(number, (name, method))| {
        let seed = root.child("learner").child(name);
        let seed = seed.child(&format!("trial {trial}")).child(&settings.to_string());
        let cell = place(&format!("method {name}"), settings, trial);
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
pub(crate) fn place(what: &str, settings: &Settings, trial: u32) -> String {
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
    method: &Method,
    data: &Data,
    seed: Seed,
    cell: &str,
    experiment: &Experiment,
) -> crf_core::Result<Cell> {
    let mut seconds = Seconds { data: data.seconds, ..Seconds::default() };
    let clock = Instant::now();
    let fitted = method.features.fit(&data.train)?;
    let train = encode(&fitted, data.train.clone())?;
    let map = Arc::new(fitted.map(&train)?);
    let holdout = data.holdout.clone().map(|data| encode(&fitted, data)).transpose()?;
    let test = encode(&fitted, data.test.clone())?;
    seconds.encode = clock.elapsed().as_secs_f64();

    let clock = Instant::now();
    let problem = Problem { valid: holdout.as_ref(), ..Problem::new(&train, &map, &*method.inference) };
    let mut path = Vec::new();
    let (map, start) = select(method, &problem, seed, &mut |tried, model| {
        if !experiment.path.is_empty() {
            let values = measure(&experiment.path, model, &test, method, None, None)?;
            path.push(Step { features: tried.features, seconds: tried.seconds, values });
        }
        Ok(())
    })?;
    let start = start.as_ref().map(|model| model as &dyn Model);
    let problem = Problem { map: &map, start, ..problem };
    let mut observer = |iteration: &crf_core::Iteration| {
        tracing::debug!(cell, ?iteration);
        Next::Continue
    };
    let fit = method.learner.fit(&problem, &mut Run::new(seed, &mut observer))?;
    seconds.train = clock.elapsed().as_secs_f64();
    // That the budget ended it, as with boosting it always does, the report says once for all cells.
    if fit.trace.stop == Stop::Diverging {
        tracing::warn!(cell, "training {}", fit.trace.stop);
    }

    let clock = Instant::now();
    let reference = experiment.reference.as_deref();
    let mut metrics = measure(&experiment.metrics, &*fit.model, &test, method, reference, Some(&fit.trace))?;
    metrics.extend(path::values(&experiment.path, &path));
    seconds.evaluate = clock.elapsed().as_secs_f64();
    tracing::info!(cell, ?metrics, stop = %fit.trace.stop, "done");
    Ok(Cell {
        method: 0,
        point: 0,
        trial: 0,
        seed: seed.short(),
        metrics,
        features: fit.model.log_linear().map_or(map.len(), |model| model.map().len()),
        stop: fit.trace.stop,
        iterations: fit.trace.iterations.len(),
        seconds,
        path,
    })
}

/// The value of each metric, with what the metrics ask for beside the answers.
fn measure(
    metrics: &[Box<dyn Metric>],
    model: &dyn Model,
    test: &Corpus,
    method: &Method,
    reference: Option<&dyn Inference>,
    trace: Option<&Trace>,
) -> crf_core::Result<Vec<f64>> {
    let by = |inference: &dyn Inference, decode| evaluate(model, test, inference, decode);
    let mut evaluation = by(&*method.inference, method.decode)?;
    let reference = reference.map(|reference| by(reference, method.decode));
    evaluation.reference = reference.transpose()?.map(Box::new);
    let needed = |needs: Needs| metrics.iter().any(|metric| metric.needs() == needs);
    if needed(Needs::Parameters) {
        let parameters = &mut evaluation.parameters;
        model.describe(usize::MAX, &mut |name, value| parameters.push((name.to_owned(), value)));
    }
    if needed(Needs::Viterbi) {
        evaluation.viterbi = Some(by(&*method.inference, Decode::Viterbi)?.predicted);
    }
    if needed(Needs::Training) {
        evaluation.trace = trace.cloned();
    }
    metrics.iter().map(|metric| metric.measure(&evaluation)).collect()
}

/// The features that the method's selector chooses, and their weights if it found any; `see` is shown every candidate.
fn select(
    method: &Method,
    problem: &Problem<'_>,
    seed: Seed,
    see: &mut dyn FnMut(&Tried, &dyn Model) -> crf_core::Result<()>,
) -> crf_core::Result<(Arc<FeatureMap>, Option<LogLinear>)> {
    if method.selector.typetag_name() == "none" {
        // Its only candidate wins; there is no need to train it twice.
        return Ok((problem.map.clone(), None));
    }
    let mut go_on = |_: &crf_core::Iteration| Next::Continue;
    let mut run = Run::new(seed.child("selector"), &mut go_on);
    let chosen = choose_seen(&*method.selector, &*method.learner, method.decode, problem, &mut run, see)?;
    Ok((chosen.map, chosen.model))
}
