//! What paths cost on robot tag with the 1,200 candidates of Vail (2008), §3.4.1.
//!
//! `cargo run --release -p crf-select --example cost [SECONDS OF PLAY] [VALUES OF λ]`: 600 and 500 unless said otherwise.
#![allow(clippy::print_stdout, reason = "it is a report")]

use std::sync::Arc;
use std::time::Instant;

use crf_core::{Decode, Features, Learner, Model, Next, Problem, Run, Seed, Selector, Source};
use crf_datasets::{Size, Tag};
use crf_inference::ForwardBackward;
use crf_learn::{Mle, Pairing, StopRule};
use crf_select::{L1Path, MEstimatorPath, Penalties, choose};

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
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let (seconds, values) =
        (numbers.next().transpose()?.unwrap_or(600), numbers.next().transpose()?.unwrap_or(500));
    let size = Size { sequences: 10, length: 6 * seconds };
    let tag = Tag { train: size, holdout: Some(size), test: size, ..Tag::default() };
    let data = tag.load(&Seed::new(34))?;
    let features: Features = serde_json::from_str(FEATURES)?;
    let fitted = features.fit(&data.train)?;
    let train = fitted.encode(Arc::new(data.train))?;
    let valid = fitted.encode(Arc::new(data.holdout.ok_or("no holdout data")?))?;
    let map = Arc::new(fitted.map(&train)?);
    let inference = ForwardBackward::default();
    let problem = Problem::new(&train, &map, &inference);
    println!("{} candidates, {} frames, {values} values of λ", map.len(), train.data().n_positions());

    let floor = 1e-4;
    let penalties = |screen| Penalties {
        decay: f64::powf(floor, 1.0 / (values as f64 - 1.0)),
        floor,
        screen,
        ..Penalties::default()
    };
    let screened = follow("l1-path", &L1Path(penalties(true)), &problem)?;
    let fast = MEstimatorPath { penalties: penalties(true), ..MEstimatorPath::default() };
    let m_estimator = follow("m-estimator-path", &fast, &problem)?;
    // The last λ from zero weights, over all candidates, to the tolerance of the path.
    let lambda = screened.lambda * floor;
    let clock = Instant::now();
    let stop = StopRule {
        iterations: 100_000,
        tolerance: Penalties::default().tolerance * lambda,
        delta: 0.0,
        period: 10,
    };
    let cold = Mle(Pairing { l1: lambda, stop, ..Pairing::default() });
    let fit = cold.fit(&problem, &mut Run::new(Seed::new(1), &mut |_| Next::Continue))?;
    let cold = clock.elapsed().as_secs_f64();
    let last = fit.trace.iterations.last().ok_or("no iteration")?;
    println!("cold training: {cold:.1} s, {} evaluations, objective {:.3}", last.evaluations, last.objective);
    let unscreened = follow("without screening", &L1Path(penalties(false)), &problem)?;
    println!("path / cold training: {:.2}", screened.seconds / cold);
    println!("without / with screening: {:.2}", unscreened.seconds / screened.seconds);
    println!("l1-path / m-estimator-path: {:.2}", screened.seconds / m_estimator.seconds);

    let problem = Problem { valid: Some(&valid), ..problem };
    let paths: [(&str, &dyn Selector); 2] =
        [("l1-path", &L1Path(penalties(true))), ("m-estimator-path", &fast)];
    for (name, selector) in paths {
        let learner = Mle(Pairing { l2: 1.0, exempt_intercepts: true, ..Pairing::default() });
        let mut go_on = |_: &crf_core::Iteration| Next::Continue;
        let chosen =
            choose(selector, &learner, Decode::Posterior, &problem, &mut Run::new(Seed::new(1), &mut go_on))?;
        let start = chosen.model.as_ref().map(|model| model as &dyn Model);
        let survivors = Problem { map: &chosen.map, start, ..problem };
        let fit = learner.fit(&survivors, &mut Run::new(Seed::new(1), &mut go_on))?;
        let evaluation = crf_core::evaluate(&*fit.model, &valid, &inference, Decode::Posterior)?;
        let wrong = evaluation.pairs().filter(|(truth, given)| truth != given).count() as f64;
        println!(
            "{name}: {} features, holdout error {:.2} % as selected, {:.2} % after retraining",
            chosen.map.len(),
            100.0 * chosen.best.map_or(f64::NAN, |best| chosen.tried[best].score),
            100.0 * wrong / evaluation.predicted.len() as f64,
        );
    }
    Ok(())
}

/// How long a path took, and its λ_0.
struct Followed {
    seconds: f64,
    lambda: f64,
}

fn follow(
    name: &str,
    selector: &dyn Selector,
    problem: &Problem<'_>,
) -> Result<Followed, Box<dyn std::error::Error>> {
    let (mut iterations, mut evaluations, mut first) = (0, 0, None);
    let mut last = (0, 0.0, 0.0);
    let mut observer = |iteration: &crf_core::Iteration| {
        iterations += 1;
        evaluations = evaluations.max(iteration.evaluations);
        Next::Continue
    };
    let stop = selector.path(problem, &mut Run::new(Seed::new(1), &mut observer), &mut |candidate| {
        first.get_or_insert(candidate.features.len());
        last = (candidate.features.len(), candidate.objective.unwrap_or(f64::NAN), candidate.seconds);
        Ok(Next::Continue)
    })?;
    let mut gradient = vec![0.0; problem.map.len()];
    let mut likelihood = crf_learn::Sharded::new(crf_learn::Likelihood::new(problem)?);
    let clock = Instant::now();
    likelihood.evaluate(&vec![0.0; problem.map.len()], &mut gradient)?;
    println!(
        "{name}: {:.1} s, {iterations} iterations, {} features at the end, objective {:.3}, {stop}; one pass over all candidates {:.1} ms",
        last.2,
        last.0,
        last.1,
        1e3 * clock.elapsed().as_secs_f64()
    );
    let lambda = gradient.iter().map(|slope| slope.abs()).fold(0.0, f64::max);
    Ok(Followed { seconds: last.2, lambda })
}
