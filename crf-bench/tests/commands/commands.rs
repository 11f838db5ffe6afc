//! The tour: train, evaluate, tag, inspect and convert, in files and in pipes.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::workbench::{directory, piped, run, weather};
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

const TRAIN: &str = "train --format crfsuite --data train.crfsuite --model weather.crf --set learner.l2=1";

#[test]
fn a_model_is_trained_evaluated_and_inspected() {
    let place = directory("tour");
    let said = run(&place, &format!("{TRAIN} --trace trace.jsonl --holdout-fraction 0.2 --seed 3"));
    for word in ["features", "iterations", "stopped", "converged", "seconds", "holdout accuracy"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let trace = std::fs::read_to_string(place.join("trace.jsonl")).expect("a trace");
    for (i, line) in trace.lines().enumerate() {
        let line = json(line);
        assert_eq!(line["iteration"], i + 1);
        for key in ["objective", "gradient_norm", "evaluations", "seconds"] {
            assert!(line[key].is_number(), "{key}: {line}");
        }
    }

    let scores = json(&run(&place, "eval --model weather.crf --data test.crfsuite --json"));
    assert!(scores["accuracy"].as_f64() > Some(0.8), "{scores}");
    for key in ["sequence_accuracy", "chunk_f1", "macro_f1", "log_likelihood"] {
        assert!(scores[key].is_number(), "{key}: {scores}");
    }
    assert_eq!((&scores["positions"], &scores["unknown_labels"]), (&60.into(), &0.into()));
    let bins = scores["calibration"]["bins"].as_array().expect("bins");
    let counted: u64 = bins.iter().filter_map(|bin| bin["count"].as_u64()).sum();
    assert_eq!((bins.len(), counted), (10, 60));
    assert!(run(&place, "eval --model weather.crf --data test.crfsuite").contains("| B-rain |"));

    let model = json(&run(&place, "inspect --model weather.crf --top 3 --json"));
    assert_eq!(model["weights"].as_array().map(Vec::len), Some(3));
    assert_eq!((&model["seed"], &model["iterations"]), (&3.into(), &trace.lines().count().into()));
    assert!(model["config"].as_str().expect("a config").contains("l2 = 1"), "{model}");
    assert!(run(&place, "inspect --model weather.crf").contains("SHA-256"));
}

#[test]
fn tags_come_through_a_pipe() {
    let place = directory("pipe");
    run(&place, TRAIN);
    let input = weather(10, 2);
    let tags = piped(&place, "tag --model weather.crf", &input);
    assert_eq!(tags.lines().filter(|line| matches!(*line, "O" | "B-rain")).count(), 60);
    assert_eq!(tags.lines().filter(|line| line.is_empty()).count(), 10);
    assert_eq!(tags, run(&place, "tag --model weather.crf test.crfsuite --batch 1"));

    let unlabelled: String = input
        .lines()
        .map(|line| line.split_once('\t').map_or("", |x| x.1))
        .fold(String::new(), |text, line| text + line + "\r\n");
    assert_eq!(tags, piped(&place, "tag --model weather.crf --set format.labelled=false", &unlabelled));

    let marginals = piped(&place, "tag --model weather.crf --marginals --decode posterior", &input);
    for line in marginals.lines().filter(|line| !line.is_empty()) {
        let mut fields = line.split('\t');
        let label = fields.next().expect("a label");
        let of = |field: &str| {
            let (name, probability) = field.rsplit_once(':').expect("label:probability");
            (name.to_owned(), probability.parse::<f64>().expect("a probability"))
        };
        let mut all: Vec<_> = fields.map(of).collect();
        assert!((all.iter().map(|(_, p)| p).sum::<f64>() - 1.0).abs() < 1e-5, "{line}");
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        assert_eq!(all[0].0, label, "{line}");
    }

    let best = piped(&place, "tag --model weather.crf --nbest 3", &input);
    let heads: Vec<f64> = best.lines().filter_map(|line| line.strip_prefix('@')?.parse().ok()).collect();
    assert_eq!(heads.len(), 30);
    assert!(heads.chunks(3).all(|three| three.is_sorted_by(|a, b| a >= b)), "{heads:?}");
    let first = piped(&place, "tag --model weather.crf --decode viterbi", &input);
    assert_eq!(best.lines().skip(1).take(6).collect::<Vec<_>>(), first.lines().take(6).collect::<Vec<_>>());
}

#[test]
fn equal_trainings_make_equal_files() {
    let place = directory("equal-files");
    for (model, threads) in [("a.crf", 1), ("b.crf", 1), ("c.crf", 2)] {
        run(&place, &format!("{} --threads {threads}", TRAIN.replace("weather.crf", model)));
    }
    let bytes = |model: &str| std::fs::read(place.join(model)).expect("a model");
    assert!(bytes("a.crf") == bytes("b.crf") && bytes("a.crf") == bytes("c.crf"));
}

#[test]
fn plugins_are_listed_by_their_kind_or_several_of_it() {
    let place = directory("list");
    let learners = run(&place, "list learners");
    assert!(learners.starts_with("learner\n") && learners.contains("  mle "), "{learners}");
    assert_eq!(learners, run(&place, "list learner"));
}

#[test]
fn unknown_labels_are_counted_as_errors() {
    let place = directory("unknown-labels");
    run(&place, TRAIN);
    let input = weather(10, 2).replacen("\nO\t", "\nsnow\t", 1);
    let scores = json(&piped(&place, "eval --model weather.crf --data - --json", &input));
    assert_eq!((&scores["positions"], &scores["unknown_labels"]), (&60.into(), &1.into()));
}

#[test]
fn formats_are_converted_back_and_forth() {
    let place = directory("convert");
    let lines = run(&place, "convert --from crfsuite --to jsonl train.crfsuite");
    assert_eq!(lines.lines().count(), 40);
    let back = piped(&place, "convert --from jsonl --to crfsuite -", &lines);
    assert_eq!(back, run(&place, "convert --from crfsuite --to crfsuite train.crfsuite"));
    run(&place, "convert --from crfsuite --to jsonl train.crfsuite train.jsonl");
    assert_eq!(std::fs::read_to_string(place.join("train.jsonl")).expect("a file"), lines);
    run(&place, "train --format jsonl --data train.jsonl --model weather.crf --set learner.l2=1");
    piped(&place, "tag --model weather.crf", &lines);
}

#[test]
fn columns_and_tables_have_features_of_their_own() {
    let place = directory("columns");
    let (mut columns, mut table) = (String::new(), "day,carries,hour,label\n".to_owned());
    for (day, text) in weather(20, 5).split("\n\n").filter(|text| !text.is_empty()).enumerate() {
        for line in text.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let hour = fields[2].trim_start_matches("hour:");
            columns += &format!("{} {}\n", fields[1], fields[0]);
            table += &format!("{day},{},{hour},{}\n", fields[1], fields[0]);
        }
        columns += "\n";
    }
    std::fs::write(place.join("train.txt"), columns).expect("a file");
    std::fs::write(place.join("train.csv"), table).expect("a file");
    let csv = r#"{"type":"csv","sequence":"day","symbolic":["carries"]}"#;
    for (format, data) in [("conll", "train.txt"), (csv, "train.csv")] {
        run(&place, &format!("train --format {format} --data {data} --model new.crf --set learner.l2=1"));
        let scores = json(&run(&place, &format!("eval --model new.crf --data {data} --json")));
        assert!(scores["accuracy"].as_f64() > Some(0.8), "{format}: {scores}");
        piped(&place, "tag --model new.crf", &std::fs::read_to_string(place.join(data)).expect("data"));
    }
}

#[test]
fn options_win_over_the_config_file() {
    let place = directory("config");
    let config =
        "format = \"crfsuite\"\ndecode = \"viterbi\"\nlearner = { type = \"mle\", l2 = 3.0, l1 = 0.5 }\n";
    std::fs::write(place.join("weather.toml"), config).expect("a file");
    run(&place, "train weather.toml --data train.crfsuite --model a.crf --learner mle --set learner.l1=0.25");
    let model = json(&run(&place, "inspect --model a.crf --json"));
    let config = model["config"].as_str().expect("a config");
    for line in ["l1 = 0.25", "l2 = 3.0", "decode = \"viterbi\""] {
        assert!(config.contains(line), "{config}");
    }
    // The stored config trains the same model again.
    std::fs::write(place.join("again.toml"), config).expect("a file");
    run(&place, "train again.toml --data train.crfsuite --model b.crf --threads 1");
    assert_eq!(json(&run(&place, "inspect --model b.crf --json"))["weights"], model["weights"]);
}

#[test]
fn training_goes_on_from_a_model() {
    let place = directory("warm-start");
    run(&place, TRAIN);
    let again = TRAIN.replace("weather.crf", "again.crf") + " --warm-start weather.crf --json";
    let summary = json(&run(&place, &again));
    assert!(summary["iterations"].as_u64() <= Some(2), "{summary}");
    // Other data with the same labels: what the model does not know is left out.
    let other = again.replace("train.crfsuite", "test.crfsuite").replace("again.crf", "other.crf");
    assert_eq!(json(&run(&place, &other))["features"], summary["features"]);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let place = directory("closed-pipe");
    run(&place, TRAIN);
    let mut tag = Command::new(env!("CARGO_BIN_EXE_crf"))
        .args(["tag", "--model", "weather.crf", "--batch", "100"])
        .current_dir(&place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(tag.stdout.take());
    // The program may be gone before it has read everything.
    let _ = tag.stdin.take().expect("a pipe").write_all(weather(5000, 4).as_bytes());
    let output = tag.wait_with_output().expect("the program ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn help_has_examples() {
    let place = directory("help");
    for command in ["train", "tag", "eval", "inspect", "convert", "list", "explain", "schema", "check"] {
        assert!(run(&place, &format!("{command} --help")).contains("Example"), "{command}");
    }
}
