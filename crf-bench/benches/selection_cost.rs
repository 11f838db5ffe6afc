//! Cost of selection paths on robot tag with the 1,200 candidates of Vail (2008), §3.4.1.
//!
//! ```text
//! cargo bench -p crf-bench --bench selection_cost -- \
//!     SECONDS_OF_PLAY [VALUES_OF_λ] [LAST_λ / λ_0] [PARTS] [SEED]
//! ```
//!
//! The defaults of the optional arguments are 500, 1e-4, `lmcs` and 34; without arguments nothing
//! is measured. Parts:
//!
//! - `m`: the path of the M-estimator, and the choice among its candidates;
//! - `l`: the ℓ1 path, and after it
//!   - `c`: cold trainings,
//!   - `s`: the path without screening,
//!   - `e`: evaluations with the features of its points only,
//!   - `o`: the paths by OWL-QN instead of steps with a dense curvature matrix;
//! - `g`: grafting, to 150 features;
//! - `f`: the mean-field gain, to 150 features;
//! - `p`: the gain of the pseudo-likelihood, to 150 features.
//!
//! Seconds are processor time on Linux, so that other work on the machine does not matter, and
//! wall-clock time elsewhere.
#![allow(clippy::print_stdout, reason = "it is a report")]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::OnceLock;
use std::time::Instant;

use crf_core::choose;
use crf_core::metrics::ErrorRate;
use crf_core::{
    Decode, Features, FitContext, Learner, Metric as _, Model, Problem, Seed, Selector, Source, evaluate,
};
use crf_datasets::{Size, Tag};
use crf_inference::ForwardBackward;
use crf_learn::{LikelihoodObjective, Minimisation, Mle, Sharded, StopRule};
use crf_select::{
    ForwardSettings, GainProbabilities, Grafting, L1Path, LambdaPath, MEstimatorPath, MeanFieldGain,
};

const FEATURES: &str = r#"["intercept", "transition",
    {"state": {"type": "normalised", "of": {"type": "relational", "rules": [
        "i.x for i in robot", "i.y for i in robot", "i.x² for i in robot", "i.y² for i in robot",
        "speed(i) for i in robot", "speed(i)² for i in robot",
        "nearest(dot(pos(j) - pos(i), vel(i)) for j in robot by dist(i, j)) for i in robot",
        "nearest(dot(pos(j) - pos(i), vel(i)) for j in robot by dist(i, j))² for i in robot",
        "dot(vel(i), vel(j)) for i, j in robot", "dot(vel(i), vel(j))² for i, j in robot"]}}},
    {"state": {"type": "relational", "rules": ["60·speed(i)<k for i in robot, k in 5..100 step 5"]}},
    {"transition": {"type": "relational", "rules": [
        "dist(i, j)<k for i, j in robot, k in 200..1000 step 50",
        "dist(i, j)>k for i, j in robot, k in 200..1000 step 50"]}}]"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Cargo adds flags such as `--bench`.
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with("--"));
    let Some(play) = args.next() else {
        println!("nothing is measured without arguments, such as `-- 600`");
        return Ok(());
    };
    let play = play.parse::<usize>()?;
    let mut next = |default: &str| args.next().unwrap_or_else(|| default.to_owned());
    let values = next("500").parse::<usize>()?;
    let floor = next("1e-4").parse::<f64>()?;
    let parts = next("lmcs");
    let seed = Seed::new(next("34").parse()?);
    let size = Size { sequences: 10, length: 6 * play };
    let tag = Tag { train: size, holdout: Some(size), test: size, ..Tag::default() };
    let data = tag.load(&seed)?;
    let features: Features = serde_json::from_str(FEATURES)?;
    let fitted = features.fit(&data.train)?;
    let train = fitted.encode(Arc::new(data.train))?;
    let valid = fitted.encode(Arc::new(data.holdout.ok_or("no holdout data")?))?;
    let map = Arc::new(fitted.map(&train)?);
    let inference = ForwardBackward::default();
    let problem = Problem::new(&train, &map, &inference);
    println!("{} candidates, {} frames, {values} values of λ", map.len(), train.data().n_positions());

    // λ on the M-estimator's sum is λ/J on its logarithm, and J falls far below one on tag.
    let floor_of_sum = 0.03 * floor;
    let penalties = |floor: f64, screen| LambdaPath {
        decay: floor.powf(1.0 / (values as f64 - 1.0)),
        floor,
        screen,
        ..LambdaPath::default()
    };
    let with_holdout = Problem { valid: Some(&valid), ..problem };
    let settings = ForwardSettings { most: 150, l2: 1e-3, ..ForwardSettings::default() };
    if parts.contains('g') {
        let grafting = Grafting { settings: settings.clone(), ..Grafting::default() };
        follow("grafting", &grafting, &with_holdout)?;
    }
    if parts.contains('f') {
        let gain = MeanFieldGain { settings: settings.clone(), ..MeanFieldGain::default() };
        follow("mean-field-gain", &gain, &with_holdout)?;
    }
    if parts.contains('p') {
        let probabilities = GainProbabilities::Conditional;
        let gain = MeanFieldGain { probabilities, settings, ..MeanFieldGain::default() };
        follow("mean-field-gain of the pseudo-likelihood", &gain, &with_holdout)?;
    }
    let fast = if parts.contains('m') {
        let fast = MEstimatorPath { lambda_path: penalties(floor_of_sum, true), ..MEstimatorPath::default() };
        Some(follow("m-estimator-path", &fast, &with_holdout)?)
    } else {
        None
    };
    if !parts.contains('l') {
        return Ok(());
    }
    let screened = follow("l1-path", &L1Path(penalties(floor, true)), &with_holdout)?;
    if let Some(fast) = fast {
        println!(
            "l1-path / m-estimator-path: {:.2} of the paths, {:.2} with the choice",
            screened.path / fast.path,
            screened.all / fast.all
        );
    }
    let screened = screened.path;
    if parts.contains('s') {
        let unscreened = follow("without screening", &L1Path(penalties(floor, false)), &problem)?.path;
        println!("without / with screening: {:.2}", unscreened / screened);
    }
    if parts.contains('e') {
        compare_evaluations(&L1Path(penalties(floor, true)), &problem)?;
    }
    if parts.contains('o') {
        let by_owl_qn = |screen| L1Path(LambdaPath { dense: 0, ..penalties(floor, screen) });
        let with = follow("by OWL-QN", &by_owl_qn(true), &problem)?.path;
        println!("by OWL-QN / path: {:.2}", with / screened);
        let without = follow("by OWL-QN, without screening", &by_owl_qn(false), &problem)?.path;
        println!("by OWL-QN, without / with screening: {:.2}", without / with);
    }
    if !parts.contains('c') {
        return Ok(());
    }
    // The last λ alone, from zero weights and over all candidates: by the path's own steps, and by
    // OWL-QN.
    let alone = LambdaPath { decay: floor, ..penalties(floor, true) };
    let cold = follow("the last λ alone", &L1Path(alone), &problem)?.path;
    println!("path / the last λ alone: {:.2}", screened / cold);
    let lambda = floor * steepest(&problem)?;
    let tolerance = LambdaPath::default().tolerance * lambda;
    let stop = StopRule { iterations: 20_000, tolerance, delta: 0.0, ..StopRule::default() };
    let learner = Mle(Minimisation { l1: lambda, stop, ..Minimisation::default() });
    let before = seconds();
    let fit =
        learner.fit(&problem, &mut FitContext::new(Seed::new(1), &mut |_| ControlFlow::Continue(())))?;
    let cold = seconds() - before;
    let last = fit.trace.iterations.last().ok_or("no iteration")?;
    println!(
        "mle with the last λ: {cold:.1} s, {} evaluations, objective {:.3}, {}; path / mle: {:.2}",
        last.evaluations,
        last.objective,
        fit.trace.stop,
        screened / cold
    );
    Ok(())
}

/// Processor time of the program on all cores in seconds, as Linux counts it; wall-clock time
/// elsewhere.
fn seconds() -> f64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let processor_time = || {
        let text = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The name of the program, in brackets, may have blanks in it; user and system time are the
        // 12th and 13th after it.
        let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11).map(str::parse::<f64>);
        Some((fields.next()?.ok()? + fields.next()?.ok()?) / 100.0)
    };
    processor_time().unwrap_or_else(|| START.get_or_init(Instant::now).elapsed().as_secs_f64())
}

/// Seconds of a path alone, and of the path with the choice among its candidates.
struct Seconds {
    path: f64,
    all: f64,
}

/// Measures a path and the choice among its candidates, and prints both.
fn follow(
    name: &str,
    selector: &dyn Selector,
    problem: &Problem<'_>,
) -> Result<Seconds, Box<dyn std::error::Error>> {
    let learner = Mle(Minimisation { l2: 1.0, exempt_intercepts: true, ..Minimisation::default() });
    let mut iterations = 0;
    let mut observer = |_: &crf_core::Iteration| {
        iterations += 1;
        ControlFlow::Continue(())
    };
    let mut run = FitContext::new(Seed::new(1), &mut observer);
    let before = seconds();
    let chosen = choose(selector, &learner, Decode::Posterior, problem, &mut run)?;
    let all = seconds() - before;
    let path = if problem.valid.is_some() {
        // Once more, without the choice.
        let (before, mut go_on) = (seconds(), |_: &crf_core::Iteration| ControlFlow::Continue(()));
        selector.path(problem, &mut FitContext::new(Seed::new(1), &mut go_on), &mut |_| {
            Ok(ControlFlow::Continue(()))
        })?;
        seconds() - before
    } else {
        all
    };
    let last = chosen.tried.last().ok_or("an empty path")?;
    println!(
        "{name}: {path:.1} s, {all:.1} s with the choice, {} models, {iterations} iterations, {} features at the end{}, {}",
        chosen.tried.len(),
        last.features,
        last.objective.map_or_else(String::new, |objective| format!(", objective {objective:.3}")),
        chosen.stop,
    );
    if let (Some(valid), Some(best)) = (problem.valid, chosen.best) {
        let start = chosen.model.as_ref().map(|model| model as &dyn Model);
        let survivors = Problem { map: &chosen.map, start, ..*problem };
        let fit = learner
            .fit(&survivors, &mut FitContext::new(Seed::new(1), &mut |_| ControlFlow::Continue(())))?;
        let evaluation = evaluate(&*fit.model, valid, problem.inference, Decode::Posterior)?;
        println!(
            "    {} features chosen, holdout error {:.2} % when chosen, {:.2} % after retraining",
            chosen.map.len(),
            100.0 * chosen.tried[best].score.unwrap_or(f64::NAN),
            100.0 * ErrorRate {}.measure(&evaluation.into())?,
        );
    }
    Ok(Seconds { path, all })
}

/// Prints the time of an evaluation with the features of points of a path only, and with all
/// candidates: the difference is all that screening can save.
fn compare_evaluations(
    selector: &dyn Selector,
    problem: &Problem<'_>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut sizes: Vec<Vec<usize>> = Vec::new();
    let mut go_on = |_: &crf_core::Iteration| ControlFlow::Continue(());
    selector.path(problem, &mut FitContext::new(Seed::new(1), &mut go_on), &mut |candidate| {
        sizes.push(candidate.features.to_vec());
        Ok(ControlFlow::Continue(()))
    })?;
    let milliseconds = |features: &[usize]| -> Result<f64, Box<dyn std::error::Error>> {
        let map = Arc::new(problem.map.narrow(|k| features.binary_search(&k).is_ok()).0);
        let train = problem.train.restricted(&map);
        let mut f =
            Sharded::new(LikelihoodObjective::new(&Problem { map: &map, train: &train, ..*problem })?);
        let (w, mut gradient) = (vec![0.0; map.len()], vec![0.0; map.len()]);
        f.evaluate(&w, &mut gradient)?;
        let before = seconds();
        for _ in 0..100 {
            f.evaluate(&w, &mut gradient)?;
        }
        Ok(10.0 * (seconds() - before))
    };
    let all: Vec<usize> = (0..problem.map.len()).collect();
    let (most, mut mean) = (milliseconds(&all)?, 0.0);
    println!("an evaluation of {} features: {most:.2} ms", all.len());
    for tenth in 1..=10 {
        let features = &sizes[tenth * sizes.len() / 10 - 1];
        let own = milliseconds(features)?;
        mean += 0.1 * own;
        println!("    of the {} features at point {}: {own:.2} ms", features.len(), tenth * sizes.len() / 10);
    }
    println!("all / features of a point: {:.2} on average", most / mean);
    Ok(())
}

/// max_k |∂ℓ/∂w_k| at w = 0.
fn steepest(problem: &Problem<'_>) -> Result<f64, Box<dyn std::error::Error>> {
    let mut gradient = vec![0.0; problem.map.len()];
    Sharded::new(LikelihoodObjective::new(problem)?)
        .evaluate(&vec![0.0; problem.map.len()], &mut gradient)?;
    Ok(gradient.iter().map(|slope| slope.abs()).fold(0.0, f64::max))
}
