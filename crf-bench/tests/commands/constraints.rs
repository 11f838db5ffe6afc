//! Constraints from the options, from a file and from the model: in training, and in what is
//! labelled after it.

use std::path::{Path, PathBuf};

use crate::workbench::{config, directory, json, piped, refused, run, write};

/// Chunks of which every second word goes on with one, wherever it stands.
const CHUNKS: &str =
    "the B-NP\ndog I-NP\nbarks O\n\na B-NP\ndog I-NP\n\nbarks O\nthe B-NP\ncat I-NP\n\ncat B-NP\nbarks O\n\n";
/// Words that are most often inside of a chunk, at the beginning of a sentence and after a verb.
const TEST: &str = "dog O\nbarks O\ndog O\n\ndog O\ndog O\n\nbarks O\n\n";
const TRAIN: &str =
    "train --format conll --data train.txt --set learner.l2=0.1 --features [{state=\"equals\"}]";

fn chunks(name: &str) -> PathBuf {
    let place = directory(name);
    write(&place, &[("train.txt", CHUNKS), ("test.txt", TEST)]);
    place
}

/// True if every I of the tags continues a chunk.
fn well_formed(tags: &str) -> bool {
    let lines: Vec<&str> = std::iter::once("").chain(tags.lines()).collect();
    lines.windows(2).all(|pair| pair[1] != "I-NP" || matches!(pair[0], "B-NP" | "I-NP"))
}

fn tags(place: &Path, options: &str) -> String {
    let tags = piped(place, &format!("tag {options}"), TEST);
    assert_eq!(tags.lines().filter(|line| !line.is_empty()).count(), 6, "{tags}");
    tags
}

#[test]
fn a_model_trained_without_them_is_tagged_with_them() {
    let place = chunks("constraints-tag");
    run(&place, &format!("{TRAIN} --model free.crf"));
    assert!(!well_formed(&tags(&place, "--model free.crf")));
    for options in ["", "--decode viterbi", "--marginals"] {
        let tags = tags(&place, &format!("--model free.crf --constraints bio {options}"));
        let labels: Vec<&str> =
            tags.lines().map(|line| line.split('\t').next().unwrap_or_default()).collect();
        assert!(well_formed(&labels.join("\n")), "{options}: {tags}");
    }
    let best = piped(&place, "tag --model free.crf --constraints bio --nbest 4", TEST);
    assert!(
        best.split('@').all(|labels| well_formed(labels.trim_start_matches(|c: char| c != '\n'))),
        "{best}"
    );

    let log_likelihood = |options: &str| {
        let scores = json(&place, &format!("eval --model free.crf --data train.txt --json {options}"));
        scores["log_likelihood"].as_f64()
    };
    // The true labels are possible, and share their probability with fewer others.
    assert!(log_likelihood("") < log_likelihood("--constraints bio"));
}

#[test]
fn a_model_trained_with_them_keeps_them() {
    let place = chunks("constraints-train");
    let free = json(&place, &format!("{TRAIN} --model free.crf --json"));
    let bound = json(&place, &format!("{TRAIN} --model bound.crf --constraints bio --json"));
    // Impossible labellings take no share of the probability.
    assert!(bound["objective"].as_f64() < free["objective"].as_f64(), "{bound}");
    assert!(config(&place, "bound.crf").contains("scheme = \"bio\""));
    assert!(well_formed(&tags(&place, "--model bound.crf")));
    // Rules of the option come on top of the model's own.
    let both = "--model bound.crf --constraints {never_first=[\"B-NP\"]}";
    assert!(
        tags(&place, both).split("\n\n").all(|tags| !tags.starts_with('B'))
            && well_formed(&tags(&place, both))
    );

    let again = format!("{TRAIN} --model again.crf --warm-start bound.crf --json")
        .replace("--features [{state=\"equals\"}]", "");
    let again_bound = json(&place, &again);
    assert!(again_bound["iterations"].as_u64() <= Some(2), "{again_bound}");
    assert!(config(&place, "again.crf").contains("scheme = \"bio\""));
    let without = json(&place, &format!("{again} --constraints {{}}"));
    assert!(
        (without["objective"].as_f64().expect("a number") - free["objective"].as_f64().expect("a number"))
            .abs()
            < 1e-3
    );
}

#[test]
fn a_file_has_rules_of_its_own_and_folds_obey_them() {
    let place = chunks("constraints-file");
    let rules = "[constraints]\nforbid = [[\"O\", \"I-NP\"]]\nnever_first = [\"I-NP\"]\n";
    let text = format!("format = \"conll\"\nfeatures = [{{ state = \"equals\" }}]\n\n{rules}");
    write(&place, &[("rules.toml", &text), ("typo.toml", &text.replace("never_first", "never_frist"))]);
    run(&place, "train rules.toml --data train.txt --model a.crf --tune learner.l2=0.1,1 --folds 2");
    assert!(well_formed(&tags(&place, "--model a.crf")));
    let stored = config(&place, "a.crf");
    assert!(stored.contains("never_first = [\"I-NP\"]"), "{stored}");
    // An option replaces all of the file's rules.
    run(&place, "train rules.toml --data train.txt --model b.crf --constraints {forbid=[[\"O\",\"O\"]]}");
    let stored = config(&place, "b.crf");
    assert!(stored.contains("never_first = []") && stored.contains("\"O\""), "{stored}");
    refused(
        &place,
        "train typo.toml --data train.txt --model new.crf",
        2,
        "typo.toml:6:1: unknown key `never_frist`, did you mean `never_first`?",
    );
}

#[test]
fn what_cannot_be_obeyed_is_refused() {
    let place = chunks("constraints-refused");
    write(
        &place,
        &[
            ("broken.txt", &CHUNKS.replace("the B-NP\ndog", "the O\ndog")),
            ("tags.txt", "dog NN\nbarks VB\n\n"),
        ],
    );
    run(&place, &format!("{TRAIN} --model free.crf"));
    let train = "train --format conll --model new.crf";
    for (line, code, message) in [
        (
            format!("{train} --data train.txt --constraints bi"),
            2,
            "--constraints bi: unknown name `bi`, did you mean `bio`?",
        ),
        (
            format!("{train} --data train.txt --set constraints=bi"),
            2,
            "--set constraints=bi: unknown name `bi`, did you mean `bio`?",
        ),
        (
            format!("{train} --data train.txt --constraints {{shceme=\"bio\"}}"),
            2,
            "--constraints {shceme=\"bio\"}: unknown key `shceme`, did you mean `scheme`?",
        ),
        (
            format!("{train} --data train.txt --constraints {{forbid=[[\"O\",\"I-N\"]]}}"),
            1,
            "train.txt: constraints: unknown label `I-N`, did you mean `I-NP`?",
        ),
        (
            format!("{train} --data tags.txt --constraints bio"),
            1,
            "tags.txt: `constraints` must be a scheme whose labels the data have: `O`, `B-…` and `I-…` for `bio`, got the label `NN`",
        ),
        (
            format!("{train} --data broken.txt --constraints bio --holdout-fraction 0.5"),
            1,
            "broken.txt: sequence 1: position 2: `I-NP` may not follow `O`, say the constraints",
        ),
        (
            format!("{train} --data broken.txt --learner hmm --constraints bio"),
            1,
            "broken.txt: sequence 1: position 2: `I-NP` may not follow `O`, say the constraints",
        ),
        (
            "tag --model free.crf --constraints bioe test.txt".to_owned(),
            2,
            "--constraints bioe: unknown name `bioe`, did you mean `bio`?",
        ),
        (
            "tag --model free.crf --constraints {never_last=[\"X\"]} test.txt".to_owned(),
            2,
            "--constraints {never_last=[\"X\"]}: unknown label `X`, did you mean `O`?",
        ),
    ] {
        refused(&place, &line, code, message);
    }
    let nothing = "--constraints {never_first=[\"O\",\"B-NP\",\"I-NP\"]}";
    for line in [
        format!("tag --model free.crf {nothing} test.txt"),
        format!("eval --model free.crf --data test.txt {nothing}"),
    ] {
        let output = crate::workbench::crf(&place, &line).output().expect("the program runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            said.contains("sequence 1: infeasible: ") && output.status.code() == Some(1),
            "{line}: {said}"
        );
    }
}
