//! Columns of numbers as users have them, through every learner: a model that labels, or an error
//! that says what would help, in time.

use std::fmt::Write as _;

use crate::harness::{Place, each};

/// Number of positions of the training data.
const N: usize = 48;

/// Number of a position and its label.
type Column = fn(usize, bool) -> f64;

/// Columns of every size, by name.
const COLUMNS: [(&str, Column); 8] = [
    ("1e6", |t, y| 1e6 * wave(t, y)),
    ("1e-6", |t, y| 1e-6 * wave(t, y)),
    ("near 1e9", |t, y| 1e9 + wave(t, y)),
    ("constant", |_, _| 7.0),
    ("zero", |_, _| 0.0),
    ("1e150", |t, y| 1e150 * wave(t, y)),
    ("1e300", |t, y| 1e300 * wave(t, y)),
    ("the largest", |_, y| if y { f64::MAX } else { -f64::MAX }),
];

/// A number that tells the label in most cases.
fn wave(t: usize, y: bool) -> f64 {
    let noise = (t * 7919 % 101) as f64 / 101.0 - 0.5;
    if y { 0.4 + noise } else { -0.4 + noise }
}

/// Names of the learners that need no further settings.
const LEARNERS: [&str; 20] = [
    "arow",
    "boosted-hmm",
    "boosted-random-field",
    "discriminative-hmm",
    "gradient-tree-boosting",
    "hmm",
    "logistic",
    "logit-boost",
    "m-estimator",
    "mle",
    "neural-chain",
    "passive-aggressive",
    "perceptron",
    "pseudo-likelihood",
    "ssvm-frank-wolfe",
    "ssvm-n-slack",
    "ssvm-one-slack",
    "ssvm-subgradient",
    "svc",
    "virtual-evidence-boosting",
];

#[test]
fn every_learner_ends_on_every_column_with_a_model_that_labels_or_an_error() {
    let place = Place::new("columns");
    for (name, column) in COLUMNS {
        let mut text = "seq,x,near,label\n".to_owned();
        for t in 0..N {
            let y = t / 3 % 2 == 1;
            let x = column(t, y);
            // The second column is nearly equal to the first.
            let near = x * (1.0 - 1e-9 * (t % 5) as f64);
            writeln!(text, "{},{x:e},{near:e},{}", t / 12, if y { "on" } else { "off" }).expect("a string");
        }
        place.write(&format!("{name}.csv"), text);
    }
    let attacks = COLUMNS.iter().flat_map(|(column, _)| LEARNERS.map(|learner| (*column, learner)));
    each(attacks, |(column, learner)| {
        let data = format!("{column}.csv");
        let format = "{type=\"csv\",sequence=\"seq\"}";
        let raw = "[\"intercept\",\"transition\",{state=\"value\"}]";
        let train =
            ["train", "--format", format, "--data", &data, "--model", "new.crf", "--learner", learner];
        for features in [&[][..], &["--features", raw]] {
            let train = [&train[..], features].concat();
            let attack = train.join(" ");
            let trained = place.run(&train, &["new.crf"]);
            if trained.code != 0 {
                continue;
            }
            let tagged = place.run(&["tag", "--model", "new.crf", &data], &[]);
            assert_eq!(tagged.code, 0, "{attack}: {tagged:?}");
            let labels = tagged.stdout.lines().filter(|line| matches!(*line, "on" | "off")).count();
            assert_eq!(labels, N, "{attack}: {tagged:?}");
            let eval = place.run(&["eval", "--json", "--model", "new.crf", "--data", &data], &[]);
            assert_eq!(eval.code, 0, "{attack}: {eval:?}");
            let scores: serde_json::Value = serde_json::from_str(&eval.stdout).expect("JSON");
            let is_number = |key: &str| scores[key].is_f64();
            assert!(is_number("accuracy") && is_number("log_likelihood"), "{attack}: {eval:?}");
        }
    });
}
