//! `crf train` with a selector: the model has the chosen features, and tags as any other.

use crate::workbench::{directory, json, refused, run, write};

const TRAIN: &str = "train small.toml --data train.crfsuite --holdout test.crfsuite --model";
const TRAIN_ALL: &str =
    "train small.toml --data train.crfsuite --holdout test.crfsuite --model small.crf --json";
const SMALL: &str = r#"
format = "crfsuite"
selector = { type = "grafting", most = 3 }
learner = { type = "mle", l2 = 1.0 }
"#;

#[test]
fn a_model_has_the_features_that_a_selector_chose() {
    let place = directory("selection");
    let all = SMALL.replace("selector", "# selector");
    write(&place, &[("small.toml", SMALL), ("all.toml", &all)]);
    let trained = json(&place, &format!("{TRAIN} small.crf --json"));
    let all = json(&place, &TRAIN_ALL.replace("small", "all"));
    let features = |summary: &serde_json::Value| summary["features"].as_u64().expect("a number");
    assert!(features(&trained) <= 3 && features(&trained) < features(&all), "{trained} {all}");
    let inspected = json(&place, "inspect --model small.crf --json");
    assert!(inspected["config"].as_str().expect("a config").contains("grafting"), "{inspected}");
    assert_eq!(run(&place, "tag --model small.crf test.crfsuite").lines().count(), 70);
    assert!(run(&place, "eval --model small.crf --data test.crfsuite").contains("accuracy"));
}

#[test]
fn a_model_to_start_from_leaves_nothing_to_select() {
    let place = directory("selection-warm");
    write(&place, &[("small.toml", SMALL)]);
    run(&place, &format!("{TRAIN} small.crf"));
    let message =
        "train.crfsuite: a model to start from has its features already: select none, or start anew";
    refused(&place, &format!("{TRAIN} new.crf --warm-start small.crf"), 1, message);
}
