//! Commands that once did something wrong, each under the name of what was wrong.
//!
//! Faults with a test file of their own are not repeated here: files written over are in
//! `overwritten.rs` and `untouched.rs`, model files in `model_file.rs`, runs that end early in
//! `experiments/durable.rs`.
#![cfg(unix)]

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::workbench::{crf, directory, run, write};

const TRAIN: &str = "train --format crfsuite --data train.crfsuite --model m.crf --set learner.l2=1";

/// The exit code of a line, its output and its errors.
fn answer(place: &Path, line: &str, input: &str) -> (Option<i32>, String, String) {
    let mut command = crf(place, line);
    let output = command.write_stdin(input).timeout(Duration::from_secs(240)).output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// The answer of `crf infer` about one graph.
fn inferred(graph: &str, options: &str) -> Value {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (code, out, error) = answer(place, &format!("infer {options}"), &format!("{graph}\n"));
    assert_eq!(code, Some(0), "{options}: {error}");
    serde_json::from_str(&out).expect("JSON")
}

const EXPERIMENT: &str = r#"
title = "t"
trials = 1
seed = 1
metrics = ["error"]
[dataset]
type = "redundant-observations"
train = { sequences = 1, length = 30 }
test = { sequences = 1, length = 20 }
[sweep]
"dataset.copies" = [1, 2]
[methods.CRF]
features = ["intercept", "transition", { state = "value" }]
learner = { type = "mle", l2 = 0.1 }
[[published]]
metric = "error"
at = { "dataset.copies" = 1 }
values = { CRF = 0.1 }
"#;

#[test]
fn a_table_that_is_left_out_where_empty_can_be_set_to_empty() {
    let place = directory("defect-set");
    write(&place, &[("e.toml", EXPERIMENT)]);
    for setting in ["published.0.at={}", "published=[]", "figure.densities=[]", "path=[]"] {
        let (code, _, error) = answer(&place, &format!("check e.toml --set {setting}"), "");
        assert_eq!(code, Some(0), "{setting}: {error}");
    }
    let (code, _, error) = answer(&place, "check e.toml --set published.0.att={}", "");
    assert_eq!((code, error.contains("did you mean `at`?")), (Some(2), true), "{error}");
}

#[test]
fn a_sequence_without_an_answer_has_its_own_number_and_those_before_it_are_labelled() {
    let place = directory("defect-number");
    run(&place, TRAIN);
    let good = "O\that\nO\that\n\n";
    // A single position would have to begin with one label and end with another.
    let text = [good.repeat(2500).as_str(), "O\that\n\n", good].concat();
    let rules = "{never_first=[\"O\"],never_last=[\"B-rain\"]}";
    for batch in [1, 100, 20_000] {
        let line = format!("tag --model m.crf --batch {batch} --constraints {rules}");
        let (code, out, error) = answer(&place, &line, &text);
        assert_eq!(code, Some(1), "{error}");
        assert!(error.starts_with("error: standard input: sequence 2501: infeasible"), "{error}");
        assert_eq!(out, "B-rain\nO\n\n".repeat(2500), "batches of {batch}");
    }
}

#[test]
fn more_threads_than_any_machine_has_are_refused() {
    let place = directory("defect-threads");
    for (line, threads) in [(TRAIN, "1000000"), ("infer", "4096"), ("experiment e.toml", "0")] {
        let (code, _, error) = answer(&place, &format!("{line} --threads {threads}"), "");
        assert_eq!(code, Some(2), "{line}: {error}");
        assert!(error.contains("expected a whole number from 1 to 1024"), "{error}");
    }
}

#[test]
fn help_that_cannot_be_printed_is_a_failure() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").map(Stdio::from);
    for option in ["--help", "--version", "list"] {
        let Ok(full) = full() else { return };
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_crf"));
        let output = command.arg(option).stdout(full).output().expect("the program runs");
        assert_eq!(output.status.code(), Some(1), "{option}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("standard output: "), "{option}");
    }
    let place = directory("defect-help");
    assert_eq!(answer(&place, "--help", "").0, Some(0));
    assert_eq!(answer(&place, "train --modle x", "").0, Some(2));
}

#[test]
fn escapes_in_names_are_shown_and_not_obeyed() {
    let place = directory("defect-escapes");
    let evil = "\u{1b}[31mred\u{7}";
    write(&place, &[("g.jsonl", "{\"x\":[{\"a\\u001b[2J\":1}],\"y\":[\"\\u001b[32mY\"]}\n")]);
    std::fs::copy(place.join("train.crfsuite"), place.join(evil)).expect("a file");
    run(&place, "train --format jsonl --data g.jsonl --model g.crf --set learner.l2=1");
    for line in [
        format!("tag --model {evil}.crf"),
        format!("eval --model {evil} --data x"),
        format!("train --format crfsuite --data {evil} --model {evil}.crf --set learner.l2=1"),
        format!("train {evil}.toml --data x --model y"),
        format!("infer {evil}.jsonl"),
        format!("infer --with {evil}"),
        format!("check {evil}.toml"),
        format!("report --results {evil}.none"),
        format!("convert --from {evil} --to jsonl train.crfsuite"),
        "inspect --model g.crf".to_owned(),
        "eval --model g.crf --data g.jsonl".to_owned(),
    ] {
        let (_, out, error) = answer(&place, &line, "");
        assert!(!(out + &error).contains(['\u{1b}', '\u{7}']), "{line}");
    }
}

#[test]
fn a_number_of_labels_beyond_the_range_says_the_range() {
    let place = directory("defect-cards");
    let (code, _, error) = answer(&place, "infer", "{\"cards\":[4294967296],\"node\":[[0]]}\n");
    assert_eq!(code, Some(1));
    assert!(
        error.contains("expected a whole number from 0 to 4294967295, got integer `4294967296`"),
        "{error}"
    );
}

#[test]
fn the_best_score_of_nothing_is_no_negative_zero() {
    let answer = inferred("{\"cards\":[],\"node\":[]}", "--with junction-tree");
    assert_eq!(answer["map_score"].to_string(), "0.0");
}

/// Two columns of which one is a million times as large, and labels that follow the small one.
fn uneven() -> String {
    let mut text = "seq,small,large,label\n".to_owned();
    for i in 0_u32..300 {
        let noise = f64::from(i.wrapping_mul(2_654_435_761) >> 16) / 65536.0 - 0.5;
        let label = i / 7 % 2;
        let small = f64::from(label) + 0.2 * noise;
        text += &format!("{},{small},{},{}\n", i / 30, 1e6 * noise, ["a", "b"][label as usize]);
    }
    text
}

#[test]
fn numbers_of_different_sizes_are_normalised_by_default_and_warned_of_otherwise() {
    let place = directory("defect-scale");
    write(&place, &[("u.csv", &uneven())]);
    let format = "{type=\"csv\",sequence=\"seq\"}";
    for learner in ["mle", "perceptron", "passive-aggressive"] {
        let line = format!("train --format {format} --data u.csv --model u.crf --learner {learner}");
        let (code, _, error) = answer(&place, &line, "");
        assert_eq!(code, Some(0), "{learner}: {error}");
        assert!(!error.contains("prototype `normalised`"), "{learner}: {error}");
        let scores = crate::workbench::json(&place, "eval --model u.crf --data u.csv --json");
        assert!(scores["accuracy"].as_f64() > Some(0.9), "{learner}: {scores}");
    }
    let raw = format!(
        "train --format {format} --data u.csv --model u.crf --features [\"transition\",{{state=\"value\"}}] --set learner.l2=1"
    );
    let (_, _, error) = answer(&place, &raw, "");
    assert_eq!(error.matches("prototype `normalised`").count(), 1, "{error}");
    assert!(error.contains("`large` reach 5.0") && error.contains("`small`"), "{error}");
}
