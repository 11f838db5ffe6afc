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

const EXPERIMENT: &str = include_str!("../copies.toml");

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
    write(&place, &[("g.jsonl", "{\"x\":[{\"a\\u001b[2J\":1}],\"y\":[\"Y\"]}\n")]);
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
        assert!(!error.contains("times the size of"), "{learner}: {error}");
        let scores = crate::workbench::json(&place, "eval --model u.crf --data u.csv --json");
        assert!(scores["accuracy"].as_f64() > Some(0.9), "{learner}: {scores}");
    }
    let raw = format!(
        "train --format {format} --data u.csv --model u.crf --features [\"transition\",{{state=\"value\"}}] --set learner.l2=1"
    );
    let (_, _, error) = answer(&place, &raw, "");
    assert_eq!(error.matches("times the size of").count(), 1, "{error}");
    assert!(error.contains("∧ large`") && error.contains("∧ small`"), "{error}");
}

/// A graph of which only one label of one node is impossible, and a chain that cannot be left.
fn feasible() -> [String; 2] {
    let nodes = ["[0,0]"; 26].join(",");
    let easy = format!(
        "{{\"cards\":[{}],\"node\":[[1,0],{nodes}],\"edges\":[{{\"u\":0,\"v\":26,\"table\":[[null,null],[0,0]]}}]}}",
        ["2"; 27].join(",")
    );
    let edges: Vec<String> = (0..29)
        .map(|t| format!("{{\"u\":{t},\"v\":{},\"table\":[[0,0,null],[0,0,null],[0,0,0]]}}", t + 1))
        .collect();
    let absorbing = format!(
        "{{\"cards\":[{}],\"node\":[{},[null,null,0]],\"edges\":[{}]}}",
        ["3"; 30].join(","),
        ["[1,1,0]"; 29].join(","),
        edges.join(",")
    );
    [easy, absorbing]
}

#[test]
fn feasible_graphs_are_answered_by_every_inference_that_searches() {
    for graph in feasible() {
        for inference in ["junction-tree", "icm", "gibbs", "mean-field", "dual-decomposition"] {
            let answer = inferred(&graph, &format!("--with {inference}"));
            assert!(answer["map_score"].is_number(), "{inference}: {answer}");
        }
    }
}

#[test]
fn large_potentials_break_no_bound_and_no_marginal() {
    let exact = (1.0 + (-2.3_f64).exp()).ln();
    let graph = "{\"cards\":[2],\"node\":[[1e9,999999997.7]]}";
    for inference in ["mean-field", "belief-propagation", "junction-tree", "enumeration"] {
        let answer = inferred(graph, &format!("--with {inference}"));
        let log_z = answer["log_z"].as_f64().expect("a number") - 1e9;
        assert!((log_z - exact).abs() < 1e-6, "{inference}: {answer}");
    }
    let graph = "{\"cards\":[2,2,2],\"node\":[[0,0],[1e17,1e17],[0,0]],\"edges\":[{\"u\":0,\"v\":1,\"table\":[[0,0],[0,0]]},\
        {\"u\":1,\"v\":2,\"table\":[[0,0],[0,0]]},{\"u\":2,\"v\":0,\"table\":[[0,0],[0,0]]}]}";
    for inference in ["junction-tree", "enumeration", "mean-field", "belief-propagation"] {
        let answer = inferred(graph, &format!("--with {inference}"));
        for row in answer["marginals"].as_array().expect("marginals") {
            assert!(
                row.as_array().expect("a row").iter().all(|p| p.as_f64() == Some(0.5)),
                "{inference}: {answer}"
            );
        }
    }
}

#[test]
fn an_answer_that_is_not_finite_is_an_error() {
    let graph = "{\"cards\":[2,2],\"node\":[[1e308,0],[1e308,0]],\"edges\":[{\"u\":0,\"v\":1,\"table\":[[1e308,0],[0,0]]}]}\n";
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for inference in
        ["junction-tree", "enumeration", "mean-field", "forward-backward", "belief-propagation", "gibbs"]
    {
        let (code, out, error) = answer(place, &format!("infer --with {inference}"), graph);
        assert_eq!(code, Some(1), "{inference}: {out}");
        assert!(error.contains("not a finite number"), "{inference}: {error}");
    }
}

/// A column x near 1 for label a and near −1 for label b.
fn readings() -> String {
    let mut text = "seq,x,label\n".to_owned();
    for i in 0_u32..600 {
        let noise = f64::from(i.wrapping_mul(2_654_435_761) >> 16) / 65536.0 - 0.5;
        let label = i / 7 % 2;
        text += &format!(
            "{},{},{}\n",
            i / 20,
            1.0 - 2.0 * f64::from(label) + 2.0 * noise,
            ["a", "b"][label as usize]
        );
    }
    text
}

const CSV: &str = "--format {type=\"csv\",sequence=\"seq\"}";

#[test]
fn one_absurd_reading_leaves_the_other_positions_alone() {
    let place = directory("defect-absurd");
    write(&place, &[("t.csv", &readings())]);
    run(&place, &format!("train {CSV} --data t.csv --model t.crf --set learner.l2=1"));
    let tags = |absurd: &str, options: &str| {
        let values = ["1", "1.2", "-1.5", "-1", absurd, "-2", "-1.4", "1.5"];
        let lines: String = values.iter().map(|x| format!("0,{x},a\n")).collect();
        let (code, out, error) =
            answer(&place, &format!("tag --model t.crf {options}"), &format!("seq,x,label\n{lines}"));
        assert_eq!(code, Some(0), "{error}");
        out.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    for options in ["", "--marginals", "--decode viterbi"] {
        assert_eq!(tags("1e17", options), tags("30", options), "{options}");
    }
}

#[test]
fn chunks_are_measured_only_where_labels_are_chunks() {
    let place = directory("defect-chunks");
    write(&place, &[("t.csv", &readings())]);
    run(&place, &format!("train {CSV} --data t.csv --model t.crf --set learner.l2=1"));
    let (code, out, error) = answer(&place, "eval --model t.crf --data t.csv", "");
    assert_eq!(code, Some(0), "{error}");
    assert!(!out.contains("chunk_f1"), "{out}");
    let line = format!("train {CSV} --data t.csv --model x.crf --tune learner.l2=1,10 --tune-by chunk-f1");
    let (code, out, error) = answer(&place, &line, "");
    assert!(code != Some(0) && error.contains("chunk"), "{out}{error}");
}

#[test]
fn constraints_follow_the_edges_of_graphs() {
    let place = directory("defect-edges");
    let x = "\"x\":[{\"a\":1},{\"b\":1},{\"c\":1}]";
    let breaks = format!(
        "{{{x},\"y\":[\"O\",\"B-X\",\"I-X\"],\"edges\":[[0,2]]}}\n{{{x},\"y\":[\"O\",\"B-X\",\"I-X\"],\"edges\":[[1,2]]}}\n"
    );
    let obeys = format!(
        "{{{x},\"y\":[\"O\",\"I-X\",\"B-X\"],\"edges\":[[2,1]]}}\n{{\"x\":[{{\"a\":1}}],\"y\":[\"O\"],\"edges\":[]}}\n"
    );
    write(&place, &[("breaks.jsonl", &breaks), ("obeys.jsonl", &obeys)]);
    let line = |data: &str| {
        format!(
            "train --format jsonl --data {data} --model x.crf --set inference=belief-propagation --constraints bio --set learner.l2=1.0"
        )
    };
    let (code, _, error) = answer(&place, &line("breaks.jsonl"), "");
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("sequence 1"), "{error}");
    let (code, _, error) = answer(&place, &line("obeys.jsonl"), "");
    assert_eq!(code, Some(0), "{error}");
}

/// Words with chunk labels, as a TAB-separated file.
fn chunks() -> String {
    let mut text = String::new();
    for i in 0_u32..300 {
        let r = i.wrapping_mul(2_654_435_761) >> 20;
        text += &match r % 3 {
            0 => format!("n{}\tB-X\nn{}\tI-X\n", r % 7, r % 5),
            _ => format!("o{}\tO\n", r % 11),
        };
        text += if i % 8 == 7 { "\n" } else { "" };
    }
    text + "\n"
}

#[test]
fn labels_that_a_model_cannot_have_are_minus_infinity_whatever_is_known() {
    let place = directory("defect-impossible");
    let full = "n1\tB-X\nn2\tI-X\no3\tO\nn4\tI-X\n\no1\tO\n\n";
    let part = "n1\tB-X\nn2\t\no3\tO\nn4\tI-X\n\no1\tO\n\n";
    write(&place, &[("c.txt", &chunks()), ("full.txt", full), ("part.txt", part)]);
    run(
        &place,
        "train --format {type=\"conll\",separator=\"tab\"} --data c.txt --model c.crf --constraints bio --set learner.l2=1",
    );
    for data in ["full.txt", "part.txt"] {
        let (code, out, error) = answer(&place, &format!("eval --model c.crf --data {data}"), "");
        assert_eq!(code, Some(0), "{data}: {error}");
        let line = out.lines().find(|line| line.starts_with("log_likelihood")).expect("a line");
        assert!(line.ends_with("-inf"), "{data}: {line}");
    }
}

#[test]
fn an_attribute_that_stands_twice_is_worth_the_sum_of_its_values() {
    let place = directory("defect-twice");
    let (mut twice, mut summed) = (String::new(), String::new());
    for i in 0_u32..400 {
        let r = i.wrapping_mul(2_654_435_761) >> 20;
        let (label, k) = if r % 2 == 0 {
            ("P", [1, 2, 2, 3][(r / 2 % 4) as usize])
        } else {
            ("Q", [0, 1, 1][(r / 2 % 3) as usize])
        };
        twice += &format!("{label}\tb{}\n", "\ta".repeat(k));
        summed += &match k {
            0 => format!("{label}\tb\n"),
            k => format!("{label}\tb\ta:{k}\n"),
        };
        if i % 8 == 7 {
            twice += "\n";
            summed += "\n";
        }
    }
    write(&place, &[("twice.txt", &twice), ("summed.txt", &summed)]);
    for of in [
        "\"attributes\"",
        "{type=\"power\",degrees=[2],of=\"attributes\"}",
        "{type=\"window\",before=1,over=\"all\",of=\"attributes\"}",
    ] {
        let objective = |data: &str| {
            let line = format!(
                "train --format crfsuite --data {data} --model x.crf --features [\"transition\",{{state={of}}}] --set learner.l2=1.0 --json"
            );
            crate::workbench::json(&place, &line)["objective"].as_f64().expect("a number")
        };
        assert_eq!(objective("twice.txt"), objective("summed.txt"), "{of}");
    }
}

#[test]
fn sequences_without_a_known_label_count_neither_way() {
    let place = directory("defect-unlabelled");
    run(&place, TRAIN);
    let wrong = ["B-rain\that\nB-rain\that\n\n", &"\that\n\n".repeat(8)].concat();
    let (code, out, error) = answer(&place, "eval --model m.crf --data - --json", &wrong);
    assert_eq!(code, Some(0), "{error}");
    let scores: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(scores["sequence_accuracy"].as_f64(), Some(0.0), "{scores}");
}

#[test]
fn lags_within_lags_are_refused_before_they_are_made_or_stored() {
    let place = directory("defect-nested");
    write(&place, &[("t.csv", &readings())]);
    let nested = |by: &str, n: usize| {
        let lags = format!("{{type=\"lag\",by={by},of=").repeat(n);
        format!(
            "train {CSV} --data t.csv --model n.crf --set learner.l2=1 --features [{{state={lags}\"value\"{}}},\"transition\"]",
            "}".repeat(n)
        )
    };
    for line in [nested("[1]", 58), nested("[1,2]", 20)] {
        let (code, _, error) = answer(&place, &line, "");
        if code == Some(0) {
            // What trains must load.
            run(&place, "inspect --model n.crf");
        } else {
            assert!(matches!(code, Some(1 | 2)) && error.starts_with("error: "), "{code:?} {error}");
        }
    }
}

#[test]
fn likelihoods_of_margin_models_have_a_remark() {
    let place = directory("defect-margin");
    for (learner, remarks) in
        [("perceptron", 1), ("{type=\"best-of\",learners=[\"mle\",\"arow\"]}", 1), ("mle", 0)]
    {
        let line = format!("train --format crfsuite --data train.crfsuite --model m.crf --learner {learner}");
        let (code, _, error) = answer(&place, &format!("{line} --holdout test.crfsuite"), "");
        assert_eq!(code, Some(0), "{learner}: {error}");
        let said = run(&place, "eval --model m.crf --data test.crfsuite");
        assert_eq!(said.matches("fits no probabilities").count(), remarks, "{learner}: {said}");
    }
}

#[test]
fn extreme_numbers_on_the_command_line_are_used_or_refused() {
    let place = directory("defect-extremes");
    write(&place, &[("e.toml", EXPERIMENT)]);
    run(&place, TRAIN);
    let most = usize::MAX;
    for (line, code) in [
        (format!("inspect --model m.crf --top {most}"), 0),
        (format!("tag --model m.crf --batch {most} test.crfsuite"), 0),
        (format!("show tag --frames {most} --from 1 --out s.svg"), 0),
        (format!("show tag --frames 2 --rate {most} --out s.svg"), 0),
        (format!("show tag --frames 2 --from {most} --out s.svg"), 2),
        ("check e.toml --set trials=4294967295".to_owned(), 2),
        (format!("experiment e.toml --out r --shard {most}/{most}"), 0),
        ("train --format crfsuite --data train.crfsuite --model x.crf --seed 4294967295 --set learner.l2=1".to_owned(), 0),
        ("train --format crfsuite --data train.crfsuite --model x.crf --tune learner.l2=1,2 --folds 4294967295".to_owned(), 1),
    ] {
        let (got, _, error) = answer(&place, &line, "");
        assert_eq!(got, Some(code), "{line}: {error}");
    }
    let values = (0..100).map(|i| format!("{i}.0")).collect::<Vec<_>>().join(",");
    let lists: String = (0..6).map(|i| format!(" --tune features.{i}.of.degrees={values}")).collect();
    let (code, _, error) = answer(
        &place,
        &format!(
            "{TRAIN} --tune learner.l2={values} --tune learner.l1={values} --tune learner.stop.delta={values} --tune learner.stop.iterations={values} --tune learner.stop.period={values}{lists}"
        ),
        "",
    );
    assert_eq!(code, Some(2), "{error}");
}
