//! How often virtual evidence boosting finds which earlier label matters, at the size of figure 1(b) of Liao et al. (2007).
//!
//! `cargo run --release -p crf-learn --example distances [RUNS OF EACH DISTANCE] [LEAST GAIN]`: 4 and 5 unless said otherwise.
#![allow(clippy::print_stdout, reason = "it is a report")]

use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{Features, FitContext, Learner as _, Problem, Seed, Source as _};
use crf_datasets::{ExtraEdges, Linked, WeakObservations};
use crf_inference::BeliefPropagation;
use crf_learn::VirtualEvidenceBoosting;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1);
    let runs: u64 = numbers.next().map_or(Ok(4), |text| text.parse())?;
    let min_gain: f64 = numbers.next().map_or(Ok(5.0), |text| text.parse())?;
    let learner = VirtualEvidenceBoosting { min_gain, ..VirtualEvidenceBoosting::default() };
    let features: Features = serde_json::from_str(r#"["intercept", "transition", {"state": "value"}]"#)?;
    let (mut right, mut all) = (0, 0);
    for distance in 1..=5_usize {
        for seed in 0..runs {
            let edges = ExtraEdges { distances: vec![2, 3, 4, 5], ..ExtraEdges::default() };
            let source = WeakObservations { distance, ..WeakObservations::default() };
            let data = Linked { source: Box::new(source), edges }.load(&Seed::new(seed))?.train;
            let fitted = features.fit(&data)?;
            let train = fitted.encode(Arc::new(data))?;
            let map = Arc::new(fitted.map(&train)?);
            let inference = BeliefPropagation::default();
            let mut go_on = |_: &crf_core::Iteration| ControlFlow::Continue(());
            let mut run = FitContext::new(Seed::new(1), &mut go_on);
            let fit = learner.fit(&Problem::new(&train, &map, &inference), &mut run)?;
            let mut entered = Vec::new();
            fit.model.describe(usize::MAX, &mut |name, _| {
                let round = name
                    .split_once(": ")
                    .filter(|(_, what)| what.ends_with("heads") || what.ends_with("tails"));
                entered.extend(round.map(|(_, what)| match what.strip_prefix("distance-") {
                    Some(rest) => rest.split(',').next().and_then(|k| k.parse().ok()).unwrap_or(0),
                    None => 1_usize,
                }));
            });
            let pure = !entered.is_empty() && entered.iter().all(|k| k % distance == 0);
            (right, all) = (right + u32::from(pure), all + 1);
            println!(
                "distance {distance}, seed {seed}: {} in {:.1} s {entered:?}",
                if pure { "right" } else { "WRONG" },
                run.seconds()
            );
        }
    }
    println!("{right} of {all} found the right distance alone");
    Ok(())
}
