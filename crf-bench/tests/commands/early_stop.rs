//! Training that ends when holdout data say so: when it does, what it keeps, and what it admits.

use std::path::PathBuf;

use crate::workbench::{directory, json, refused, run, weather, write};
use serde_json::Value;

/// Weather in which every position of the training data can be learnt by heart.
fn overfitting(name: &str) -> PathBuf {
    let place = directory(name);
    let mut text = String::new();
    for (n, line) in weather(40, 1).lines().enumerate() {
        text += &if line.is_empty() { "\n".to_owned() } else { format!("{line}\tno{n}\n") };
    }
    write(&place, &[("train.crfsuite", &text), ("dev.crfsuite", &weather(30, 3))]);
    place
}

const TRAIN: &str = "train --format crfsuite --data train.crfsuite --model new.crf";

#[test]
fn likelihood_stops_at_its_best_on_the_holdout_data() {
    let place = overfitting("early-stop");
    let line = format!("{TRAIN} --holdout dev.crfsuite --patience 3 --trace trace.jsonl --json");
    let summary = json(&place, &line);
    assert_eq!(summary["stop"], "the loss on the validation data no longer fell");
    let trace = std::fs::read_to_string(place.join("trace.jsonl")).expect("a trace");
    let losses: Vec<f64> = trace
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["holdout"].as_f64().expect("a loss"))
        .collect();
    let best = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).expect("iterations");
    assert_eq!(losses.len(), best + 1 + 3, "{losses:?}");
    assert_eq!(summary["kept"]["iteration"], best + 1);
    assert_eq!(summary["objective"], summary["kept"]["objective"]);
    let scores = json(&place, "eval --model new.crf --data dev.crfsuite --json");
    assert!((scores["log_likelihood"].as_f64().expect("a number") + losses[best]).abs() < 1e-6, "{scores}");
    assert_eq!(summary["holdout_took_part"], true);

    let said = run(&place, &line.replace("--json", ""));
    for words in ["kept ", "the holdout data took part in a choice, so that these scores flatter the model"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let plain = run(&place, &format!("{TRAIN} --holdout dev.crfsuite --set learner.l2=1"));
    assert!(plain.contains("holdout accuracy") && !plain.contains("flatter"), "{plain}");
}

#[test]
fn other_learners_and_tuning_have_patience_too() {
    let place = overfitting("early-stop-others");
    let perceptron =
        json(&place, &format!("{TRAIN} --learner perceptron --holdout-fraction 0.3 --patience 1 --json"));
    assert!(
        perceptron["kept"]["holdout"].is_number() && perceptron["iterations"].as_u64() < Some(20),
        "{perceptron}"
    );
    let tuned = "--tune learner.patience=0,2 --folds 2 --holdout dev.crfsuite --json";
    assert_eq!(json(&place, &format!("{TRAIN} {tuned}"))["holdout_took_part"], true);
    write(&place, &[("patient.toml", "learner = { type = \"mle\", patience = 2 }\n")]);
    let summary = json(&place, &format!("{TRAIN} patient.toml --holdout dev.crfsuite --json"));
    assert!(summary["kept"].is_object(), "{summary}");
}

#[test]
fn patience_without_use_is_refused() {
    let place = overfitting("early-stop-refused");
    let snow = format!("snow\tcoat\n\n{}", weather(2, 3));
    write(
        &place,
        &[("snow.crfsuite", &snow), ("patient.toml", "learner = { type = \"mle\", patience = 2 }\n")],
    );
    for (options, code, message) in [
        ("--patience 2", 2, "--patience 2: needs holdout data: --holdout FILE or --holdout-fraction SHARE"),
        (
            "patient.toml",
            2,
            "learner.patience: needs holdout data: --holdout FILE or --holdout-fraction SHARE",
        ),
        (
            "--learner hmm --holdout dev.crfsuite --patience 2",
            2,
            "--patience 2: unknown key `learner.patience`; there is `emission`, `smoothing`, `sigma_scale`, `sigma_floor`",
        ),
        (
            "--holdout snow.crfsuite --patience 2",
            1,
            "snow.crfsuite: the label `snow` is none of those of the training data, so that its likelihood cannot be watched",
        ),
        (
            "--holdout dev.crfsuite --patience 2 --constraints {never_first=[\"O\",\"B-rain\"]}",
            1,
            "train.crfsuite: sequence 1: no sequence may begin with `B-rain`, say the constraints",
        ),
    ] {
        refused(&place, &format!("{TRAIN} {options}"), code, message);
    }
    // What breaks the rules in the holdout data is told with their name.
    let dry = |text: String| {
        text.split("\n\n").filter(|text| text.starts_with('O')).collect::<Vec<_>>().join("\n\n")
    };
    let dev = format!("{}\n\nB-rain\thook\n", dry(weather(4, 3)));
    let n_sequences = dev.split("\n\n").count();
    write(&place, &[("train.crfsuite", &dry(weather(40, 1))), ("dev.crfsuite", &dev)]);
    refused(
        &place,
        &format!("{TRAIN} --holdout dev.crfsuite --patience 2 --constraints {{never_first=[\"B-rain\"]}}"),
        1,
        &format!(
            "dev.crfsuite: sequence {n_sequences}: no sequence may begin with `B-rain`, say the constraints"
        ),
    );
}
