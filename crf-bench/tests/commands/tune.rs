//! Settings chosen by cross-validation: what is chosen, on what grounds, and what is refused.

use std::fmt::Write as _;
use std::path::Path;

use crate::workbench::{config, crf, directory, json};
use serde_json::Value;

const TRAIN: &str = "train --format crfsuite --data train.crfsuite --json --model";

#[test]
fn the_best_mean_wins_and_is_trained_on_all_data() {
    let place = directory("tune");
    let tune = "--tune learner.l2=0.001,1,1000 --tune-by log-likelihood --folds 4 --seed 5";
    let one = json(&place, &format!("{TRAIN} a.crf {tune} --threads 1"));
    let two = json(&place, &format!("{TRAIN} b.crf {tune} --threads 2"));
    assert_eq!(one["tuning"], two["tuning"]);

    let candidates = one["tuning"]["candidates"].as_array().expect("candidates");
    let mean = |tried: &Value| tried["mean"].as_f64().expect("a mean");
    for tried in candidates {
        let scores: Vec<f64> =
            tried["scores"].as_array().expect("scores").iter().filter_map(Value::as_f64).collect();
        assert_eq!(scores.len(), 4);
        assert!((scores.iter().sum::<f64>() / 4.0 - mean(tried)).abs() < 1e-9, "{tried}");
        assert!(tried["half_width"].as_f64() > Some(0.0), "{tried}");
    }
    // Neither next to no penalty nor one that leaves no weights is best.
    assert_eq!(one["tuning"]["best"], 1, "{}", one["tuning"]);
    assert!(candidates.iter().all(|tried| mean(tried) <= mean(&candidates[1])));

    // The stored config has the choice and no longer the question.
    let config = config(&place, "a.crf");
    assert!(config.contains("l2 = 1") && !config.contains("tune"), "{config}");
    let plain = json(&place, &format!("{TRAIN} c.crf --set learner.l2=1 --seed 5"));
    assert_eq!((&plain["objective"], &plain["sequences"]), (&one["objective"], &one["sequences"]));
}

#[test]
fn held_out_sequences_are_not_peeked_at() {
    let place = directory("tune-blind");
    // Every position has an attribute of its own, so that only its own label can be learnt from it.
    let mut text = String::new();
    for position in 0..60 {
        let label = if position * 7 % 11 < 5 { "a" } else { "b" };
        let _ = write!(text, "{label}\tno{position}\n{}", if position % 3 == 2 { "\n" } else { "" });
    }
    std::fs::write(place.join("train.crfsuite"), text).expect("a file");
    let tuned = json(&place, &format!("{TRAIN} a.crf --tune learner.l2=0.01,0.1"));
    let known = json(&place, "eval --model a.crf --data train.crfsuite --json");
    assert_eq!(known["accuracy"], 1.0);
    for tried in tuned["tuning"]["candidates"].as_array().expect("candidates") {
        assert!(tried["mean"].as_f64() < Some(0.8), "{tried}");
    }
}

#[test]
fn of_equals_the_stronger_penalty_is_chosen() {
    let place = directory("tune-ties");
    std::fs::write(place.join("train.crfsuite"), "a\tx\nb\ty\n\n".repeat(10)).expect("a file");
    for list in ["0.01,0.1", "0.1,0.01"] {
        json(&place, &format!("{TRAIN} a.crf --tune learner.l2={list}"));
        assert!(config(&place, "a.crf").contains("l2 = 0.1"), "{list}");
    }
}

#[test]
fn a_config_file_can_ask_for_it_and_options_win() {
    let place = directory("tune-file");
    let text = "format = \"crfsuite\"\n[tune]\nfolds = 3\nby = \"macro-f1\"\n\
                over = { \"learner.l2\" = [0.5, 2.0], decode = [\"viterbi\", \"posterior\"] }\n";
    std::fs::write(place.join("weather.toml"), text).expect("a file");
    let train = "train weather.toml --data train.crfsuite --model a.crf";
    let tuning = &json(&place, &format!("{train} --json"))["tuning"];
    assert_eq!((&tuning["folds"], &tuning["by"]), (&3.into(), &"macro_f1".into()));
    let settings: Vec<String> = tuning["candidates"]
        .as_array()
        .expect("candidates")
        .iter()
        .map(|tried| tried["settings"].to_string())
        .collect();
    assert_eq!(settings[1], r#"{"learner.l2":0.5,"decode":"posterior"}"#);
    assert_eq!(settings.len(), 4);

    let options = "--folds 2 --tune-by accuracy --tune learner.l2=1,2,3 --holdout-fraction 0.2";
    let output = crf(&place, &format!("{train} {options}")).assert().success();
    let said = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    for words in ["accuracy of 6 candidates, mean of 2 folds", "| best |", " tuning, ", "holdout accuracy"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

/// Runs a line that tunes and compares its message and its exit code.
fn refused(line: &str, code: i32, message: &str) {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tune-refused");
    crate::workbench::refused(&place, &format!("{TRAIN} new.crf {line}"), code, message);
}

#[test]
fn what_cannot_be_tuned_is_refused_with_its_place() {
    let place = directory("tune-refused");
    crf(&place, "train --format crfsuite --data test.crfsuite --model start.crf").assert().success();
    let tune = "[tune]\nover = { \"learner.l2\" = [1.0, 2.0] }\n";
    std::fs::write(place.join("tune.toml"), tune).expect("a file");
    std::fs::write(place.join("typo.toml"), tune.replace("learner.l2", "learner.l3")).expect("a file");

    refused(
        "--tune learner.l3=1,2",
        2,
        "--tune learner.l3=1,2: unknown key `learner.l3`, did you mean `l1`?",
    );
    refused(
        "--tune lerner.l2=1,2",
        2,
        "--tune lerner.l2=1,2: unknown key `lerner.l2`, did you mean `learner`?",
    );
    refused(
        "--tune seed=1,2",
        2,
        "--tune seed=1,2: tuning goes over settings of `features`, `learner`, `inference` and `decode`, not `seed`",
    );
    refused(
        "--tune learner.l2=1",
        2,
        "--tune learner.l2=1: tuning needs a list of at least two values, got [1]",
    );
    refused("--tune learner.l2=1,1", 2, "--tune learner.l2=1,1: the value 1 is listed twice");
    refused(
        "--tune learner.l2=1,-1",
        2,
        "--tune learner.l2=1,-1: `l2` must be a finite number of at least 0, got -1",
    );
    refused("--tune learner.l2=1,x", 2, "--tune learner.l2=1,x: invalid type: string \"1\", expected f64");
    refused(
        "--tune learner.l2",
        2,
        "--tune learner.l2: expected key=value,value,…, such as learner.l2=0.1,1,10",
    );
    refused(
        "--tune learner.l2=1,2 --tune learner.l2=3,4",
        2,
        "--tune learner.l2=3,4: the values of this key are given twice",
    );
    refused("--tune learner.l2=1,2 --folds 1", 2, "--folds 1: `folds` must be at least 2, got 1");
    refused("--tune learner.l2=1,2 --folds 41", 1, "train.crfsuite: 41 folds need as many sequences, got 40");
    refused(
        "--tune learner.l2=1,2 --tune-by acuracy",
        2,
        "--tune-by acuracy: unknown name `acuracy`, did you mean `accuracy`?",
    );
    refused(
        "--folds 3",
        2,
        "the options:1:1: nothing to tune: expected keys with lists of values, such as `--tune learner.l2=0.1,1,10`",
    );
    refused(
        "tune.toml --warm-start start.crf",
        2,
        "--warm-start start.crf: its features were fitted on all data, so that they cannot be cross-validated",
    );
    refused("typo.toml", 2, "typo.toml:2:10: unknown key `learner.l3`, did you mean `l1`?");
}
