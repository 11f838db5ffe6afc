//! Weights of labels are the same as repeated sequences.

use crf_core::{Dataset, Learner};
use crf_inference::BeliefPropagation;
use crf_testing::cases;
use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::{INFERENCE, quiet, text};
use proptest::prelude::*;

const FEATURES: &str = r#"["intercept", "transition", {"state": "value"}]"#;

fn learner(labels: &str, inner: &str) -> Box<dyn Learner> {
    let text = format!(r#"{{"type": "label-weighted", "labels": {labels}, "learner": {inner}}}"#);
    let learner: Box<dyn Learner> = serde_json::from_str(&text).unwrap();
    learner.check().unwrap();
    learner
}

/// Weights that a learner fits to data.
fn weights(learner: &dyn Learner, data: Dataset) -> Vec<f64> {
    let encoded = Encoded::new(FEATURES, data);
    let fit = quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap();
    fit.model.log_linear().unwrap().weights().to_vec()
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn a_sequence_counts_as_its_labels_do_in_the_mean(seed in 0..1000u64, unlabelled in 0..3u32) {
        let data = data(&Draw { sequences: 8, length: 5, labels: 3, unlabelled, seed });
        let mle = r#"{"type": "mle", "l2": 1.0, "stop": {"tolerance": 1e-9, "delta": 0.0}}"#;
        let ours = weights(&*learner(r#"{"L0": 3, "L2": 0.5}"#, mle), data.clone());
        let by_hand = data.reweighted(|i| {
            let labels = data.labels()[data.range(i)].iter().flatten();
            let counts: Vec<f64> = labels.map(|&y| [3.0, 1.0, 0.5][y as usize]).collect();
            let mean = if counts.is_empty() { 1.0 } else { counts.iter().sum::<f64>() / counts.len() as f64 };
            data.weight(i) * mean
        });
        let theirs = weights(&*serde_json::from_str::<Box<dyn Learner>>(mle).unwrap(), by_hand.unwrap());
        prop_assert!(ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() < 1e-6), "{ours:?} {theirs:?}");
    }

    #[test]
    fn a_weight_of_two_is_a_sequence_that_comes_twice(seed in 0..1000u64) {
        // No position has a neighbour, so its label alone determines how often it is repeated.
        let all = data(&Draw { sequences: 30, length: 3, labels: 2, unlabelled: 0, seed });
        let single: Vec<usize> = (0..all.len()).filter(|&i| all.range(i).len() == 1).collect();
        let one = all.subset(&single);
        let twice: Vec<usize> = (0..one.len())
            .flat_map(|i| vec![i; 1 + usize::from(one.labels()[one.range(i)] == [Some(1)])])
            .collect();
        let mle = r#"{"type": "mle", "l2": 1.0, "stop": {"tolerance": 1e-9, "delta": 0.0}}"#;
        let ours = weights(&*learner(r#"{"L1": 2}"#, mle), one.clone());
        let theirs = weights(&*serde_json::from_str::<Box<dyn Learner>>(mle).unwrap(), one.subset(&twice));
        prop_assert!(ours.iter().zip(&theirs).all(|(a, b)| (a - b).abs() < 1e-6), "{ours:?} {theirs:?}");
    }
}

#[test]
fn balanced_labels_weigh_the_same_together() {
    let all = data(&Draw { sequences: 60, length: 3, labels: 3, unlabelled: 0, seed: 4 });
    let single: Vec<usize> = (0..all.len()).filter(|&i| all.range(i).len() == 1).collect();
    let one = all.subset(&single);
    let mut counts = [0.0; 3];
    (0..one.len()).for_each(|i| counts[one.labels()[i].unwrap() as usize] += one.weight(i));
    assert!(counts[0] != counts[1] && counts[1] > 0.0, "{counts:?}");
    let given = |y: usize| counts.iter().sum::<f64>() / (3.0 * counts[y]);
    let table = format!(r#"{{"L0": {}, "L1": {}, "L2": {}}}"#, given(0), given(1), given(2));
    let mle = r#"{"type": "mle", "l2": 1.0}"#;
    let [balanced, by_hand] =
        [r#""balanced""#, table.as_str()].map(|labels| weights(&*learner(labels, mle), one.clone()));
    assert!(balanced.iter().zip(&by_hand).all(|(a, b)| (a - b).abs() < 1e-6), "{balanced:?} {by_hand:?}");
}

#[test]
fn weights_of_one_change_nothing_for_any_learner() {
    let encoded =
        Encoded::new(FEATURES, data(&Draw { sequences: 6, length: 5, labels: 3, unlabelled: 0, seed: 2 }));
    // Boosting passes messages; on chains they are exact as well.
    let inference = BeliefPropagation::default();
    let problem = encoded.problem(&inference);
    let learners = [
        "mle",
        "pseudo-likelihood",
        "m-estimator",
        "perceptron",
        "ssvm-subgradient",
        "ssvm-n-slack",
        "ssvm-one-slack",
        "ssvm-frank-wolfe",
        "hmm",
        "gradient-tree-boosting",
        "virtual-evidence-boosting",
        "logit-boost",
        "boosted-random-field",
    ];
    // A weight multiplies the longest step of a passive-aggressive learner, so steps must be that
    // long to show it.
    let inner = learners.map(|name| format!(r#"{{"type": "{name}"}}"#));
    let short_steps = r#"{"type": "passive-aggressive", "c": 0.001}"#.to_owned();
    for inner in inner.into_iter().chain([short_steps]) {
        let plain: Box<dyn Learner> = serde_json::from_str(&inner).unwrap();
        let fit = |learner: &dyn Learner| text(&quiet(1, |run| learner.fit(&problem, run)).unwrap());
        let (of_one, of_two) = (learner(r#"{"L0": 1.0}"#, &inner), learner(r#"{"L0": 20.0}"#, &inner));
        assert_eq!(fit(&*of_one), fit(&*plain), "{inner}");
        assert_ne!(fit(&*of_two), fit(&*plain), "{inner}");
    }
}

#[test]
fn labels_that_do_not_exist_and_weights_that_cannot_be_are_refused() {
    let encoded =
        Encoded::new(FEATURES, data(&Draw { sequences: 3, length: 4, labels: 2, unlabelled: 0, seed: 1 }));
    let wrong = learner(r#"{"L9": 2}"#, r#""mle""#);
    let error = quiet(1, |run| wrong.fit(&encoded.problem(&INFERENCE), run)).unwrap_err().to_string();
    assert!(error.contains("label `L9`") && error.contains("did you mean `L0`"), "{error}");
    let negative: Box<dyn Learner> =
        serde_json::from_str(r#"{"type": "label-weighted", "labels": {"L0": -1}, "learner": "mle"}"#)
            .unwrap();
    let error = negative.check().unwrap_err().to_string();
    assert_eq!(error, "`L0` must be a finite number of at least 0, got -1");
}
