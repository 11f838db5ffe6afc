//! A discriminatively trained hidden Markov model: its likelihood lies between that of its start
//! and that of the CRF with its features.

use std::sync::Arc;

use crf_core::{Dataset, Decode, Features, Fit, Learner, Problem, Stop, evaluate};
use crf_learn::{DiscriminativeHmm, Hmm, Mle};
use crf_testing::cases;
use crf_testing::problems::{Draw, data};
use crf_testing::runs::{INFERENCE, on_threads, quiet, text};
use proptest::prelude::*;

/// Trains on data, and returns log p(Y | X) of the training labels.
fn train(learner: &dyn Learner, list: &str, data: &Arc<Dataset>) -> (Fit, f64) {
    let features: Features = serde_json::from_str(list).unwrap();
    let fitted = features.fit(data).unwrap();
    let corpus = fitted.encode(data.clone()).unwrap();
    let map = Arc::new(fitted.map(&corpus).unwrap());
    let fit = quiet(1, |run| learner.fit(&Problem::new(&corpus, &map, &INFERENCE), run)).unwrap();
    let evaluation = evaluate(&*fit.model, &corpus, &INFERENCE, Decode::Posterior).unwrap();
    let each = evaluation.probabilities.unwrap().log_likelihood;
    let weighted = each.iter().enumerate().map(|(i, value)| data.weight(i) * value).sum();
    (fit, weighted)
}

const EMITTED: &str = r#"[{"state": "value"}]"#;
const EQUIVALENT: &str = r#"["intercept", "start", "transition", {"state": "value"}, {"state": "power"}]"#;

proptest! {
    #![proptest_config(cases(20))]

    #[test]
    fn labels_become_more_likely_up_to_what_a_crf_can_do(
        sequences in 3..6_usize, length in 20..40_usize, labels in 2..4_usize, seed in any::<u64>(), step in 0.1..1.0,
    ) {
        let data = Arc::new(data(&Draw { sequences, length, labels, unlabelled: 0, seed }));
        let (_, beginning) = train(&Hmm::default(), EMITTED, &data);
        let learner = DiscriminativeHmm { step, iterations: 8, ..DiscriminativeHmm::default() };
        let (fit, end) = train(&learner, EMITTED, &data);
        let (_, crf) = train(&Mle::default(), EQUIVALENT, &data);
        prop_assert!(beginning <= end + 1e-9 * end.abs() && end <= crf + 1e-3 * crf.abs(), "{beginning} ≤ {end} ≤ {crf}");
        let objectives: Vec<f64> = fit.trace.iterations.iter().map(|line| line.objective).collect();
        prop_assert!(objectives.is_sorted_by(|a, b| a + 1e-12 * a.abs() >= *b), "{objectives:?}");
        prop_assert!((objectives.last().unwrap() + end).abs() < 1e-6 * end.abs(), "{objectives:?} against {end}");
        // Distributions stay normalised.
        let (mut sums, mut deviations) = (vec![0.0; labels + 1], Vec::new());
        fit.model.describe(usize::MAX, &mut |name, value| match name.split_once("y'=L") {
            Some((_, before)) => sums[before[..1].parse::<usize>().unwrap()] += value.exp(),
            None if name.starts_with("log p(first") => sums[labels] += value.exp(),
            None => deviations.extend(name.starts_with("deviation").then_some(value)),
        });
        prop_assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-9), "{sums:?}");
        prop_assert!(deviations.len() == 2 * labels && deviations.iter().all(|&sigma| sigma >= 1e-3));
    }
}

#[test]
fn enough_iterations_go_more_than_half_of_the_way_to_the_crf() {
    let data = Arc::new(data(&Draw { sequences: 5, length: 60, labels: 3, unlabelled: 0, seed: 4 }));
    let (_, beginning) = train(&Hmm::default(), EMITTED, &data);
    let learner = DiscriminativeHmm { step: 0.2, iterations: 100, ..DiscriminativeHmm::default() };
    let (fit, end) = train(&learner, EMITTED, &data);
    let (_, crf) = train(&Mle::default(), EQUIVALENT, &data);
    assert!(crf - end < 0.5 * (crf - beginning), "from {beginning} over {end} to {crf}");
    assert!(matches!(fit.trace.stop, Stop::Budget | Stop::NoProgress), "{}", fit.trace.stop);
}

#[test]
fn threads_change_nothing() {
    let data = Arc::new(data(&Draw { sequences: 7, length: 20, labels: 2, unlabelled: 0, seed: 2 }));
    let learner = DiscriminativeHmm { iterations: 3, ..DiscriminativeHmm::default() };
    let model = |threads| on_threads(threads, || text(&train(&learner, EMITTED, &data).0));
    assert_eq!(model(1), model(3));
}
