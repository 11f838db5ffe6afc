//! Template files of CRF++ and Wapiti, from an option and from a config, and every way to get one
//! wrong.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::workbench::{config, directory, json, refused, run, write};

/// The template of CRF++'s own chunking example.
const CHUNKING: &str = "# Unigram
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]/%x[0,0]
U06:%x[0,0]/%x[1,0]

U10:%x[-2,1]
U11:%x[-1,1]
U12:%x[0,1]
U13:%x[1,1]
U14:%x[2,1]
U15:%x[-2,1]/%x[-1,1]
U16:%x[-1,1]/%x[0,1]
U17:%x[0,1]/%x[1,1]
U18:%x[1,1]/%x[2,1]

# Bigram
B
";

const CHUNKS: &str = "the DT B-NP\nold JJ I-NP\ndog NN I-NP\nbarks VBZ O\n\na DT B-NP\ncat NN I-NP\nsleeps VBZ O\n\n\
                      dogs NNS B-NP\nsee VBP O\nthe DT B-NP\ncat NN I-NP\n\n";

/// The places of each template of the example: offset and column.
fn cells(line: &str) -> Vec<(i64, usize)> {
    let inner = line.split("%x[").skip(1).filter_map(|text| text.split(']').next()?.split_once(','));
    inner
        .map(|(offset, column)| (offset.parse().expect("a number"), column.parse().expect("a number")))
        .collect()
}

/// Number of attributes that CRF++ makes of the sample.
fn count_attributes() -> usize {
    let mut attributes = BTreeSet::new();
    for sentence in CHUNKS.split("\n\n").filter(|text| !text.is_empty()) {
        let rows: Vec<Vec<&str>> = sentence.lines().map(|line| line.split(' ').collect()).collect();
        for t in 0..rows.len() as i64 {
            for line in CHUNKING.lines().filter(|line| line.starts_with('U')) {
                let symbol = |(offset, column): (i64, usize)| match t + offset {
                    at if at < 0 => format!("_B{at}"),
                    at if at >= rows.len() as i64 => format!("_B+{}", at - rows.len() as i64 + 1),
                    at => rows[at as usize][column].to_owned(),
                };
                attributes.insert((line, cells(line).into_iter().map(symbol).collect::<Vec<_>>()));
            }
        }
    }
    attributes.len()
}

const TRAIN: &str = "train --format conll --data train.txt --set learner.l2=1 --json --model";

fn sample(name: &str) -> PathBuf {
    let place = directory(name);
    write(&place, &[("train.txt", CHUNKS), ("chunking", CHUNKING)]);
    place
}

fn features(place: &Path, options: &str) -> u64 {
    json(place, &format!("{TRAIN} m.crf {options}"))["features"].as_u64().expect("a number")
}

#[test]
fn the_chunking_example_has_the_features_that_crfpp_gives_it() {
    let place = sample("template-chunking");
    let made = json(&place, &format!("{TRAIN} a.crf --template chunking"));
    assert_eq!(made["features"], 3 * count_attributes() + 3 * 3);

    // The model does not depend on the file, and its config trains it again.
    std::fs::remove_file(place.join("chunking")).expect("the file");
    let stored = config(&place, "a.crf");
    assert!(stored.contains("\"U00:%x[-2,0]\"") && !stored.contains("chunking"), "{stored}");
    write(&place, &[("again.toml", &stored)]);
    let again = json(&place, "train again.toml --data train.txt --model b.crf --json");
    assert_eq!((&again["features"], &again["objective"]), (&made["features"], &made["objective"]));
    let tags = run(&place, "tag --model a.crf train.txt");
    let labels: Vec<&str> = CHUNKS.lines().map(|line| line.split(' ').nth(2).unwrap_or_default()).collect();
    assert_eq!(tags.lines().collect::<Vec<_>>(), labels);
}

#[test]
fn templates_within_the_sequence_are_those_of_our_own() {
    let place = sample("template-native");
    let file = " U0:%x[0,0]   # the word\r\nu1:%x[0,1]|%x[0,0]\r\n\r\nb\n";
    write(&place, &[("crfpp", file)]);
    let native =
        "[{state={type=\"template\",templates=[\"column1[0]\",\"column2[0]|column1[0]\"]}},\"transition\"]";
    let theirs = json(&place, &format!("{TRAIN} a.crf --template crfpp"));
    let ours = json(&place, &format!("{TRAIN} b.crf --features {native}"));
    assert_eq!((&theirs["features"], &theirs["objective"]), (&ours["features"], &ours["objective"]));
    let marginals = |model: &str| run(&place, &format!("tag --model {model} --marginals train.txt"));
    assert_eq!(marginals("a.crf"), marginals("b.crf"));
}

#[test]
fn the_settings_of_a_file_narrow_its_features() {
    let place = sample("template-settings");
    write(&place, &[("words", "U:%x[0,0]\n"), ("both", "*:%x[0,0]\n"), ("constant", "U\nB1\n")]);
    let (n_words, n_labels) = (9, 3);
    assert_eq!(features(&place, "--template words"), n_words * n_labels);
    assert_eq!(features(&place, "--template both"), n_words * (n_labels + n_labels * n_labels));
    assert_eq!(features(&place, "--template constant"), n_labels + n_labels * n_labels);
    // Each word has one label; `the` and `cat` come twice.
    assert_eq!(features(&place, "--template {file=\"words\",pairs=\"observed\"}"), n_words);
    assert_eq!(features(&place, "--template words --set template.min_count=2"), 2 * n_labels);

    std::fs::create_dir(place.join("configs")).expect("a directory");
    let text =
        "format = \"conll\"\ntemplate = { file = \"../words\", pairs = \"observed\", min_count = 2 }\n";
    write(&place, &[("configs/words.toml", text)]);
    let train = "train configs/words.toml --data train.txt --model m.crf --json";
    assert_eq!(json(&place, train)["features"], 2);
    // Options win: another file, with the config's settings, or features instead of a file.
    assert_eq!(json(&place, &format!("{train} --template both"))["features"], 2 + 2);
    assert_eq!(json(&place, &format!("{train} --features [\"intercept\"]"))["features"], n_labels);
    let tuned =
        json(&place, &format!("{train} --template chunking --tune features.0.state.min_count=1,2 --folds 2"));
    assert_eq!(tuned["tuning"]["candidates"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_wrong_template_is_refused_with_its_place() {
    let place = sample("template-refused");
    let both = "format = \"conll\"\nfeatures = [\"transition\"]\ntemplate = \"chunking\"\n";
    write(
        &place,
        &[
            ("both.toml", both),
            ("typo.toml", "format = \"conll\"\ntemplate = { file = \"chunking\", pair = \"all\" }\n"),
        ],
    );
    let macros =
        "expected templates with macros such as `%x[-1,0]`, `%t[0,0,\"\\u\"]` or `%m[0,0,\"^.?.?\"]`, got";
    let begins = "expected a template, which begins with `U`, `B` or `*`, or a comment after `#`, got";
    for (text, message) in [
        ("U0:%x[0,0]\nX1:%x[0,0]\n", format!("bad:2:1: {begins} `X1:%x[0,0]`")),
        ("# words\n\n  %x[0,0]\n", format!("bad:3:3: {begins} `%x[0,0]`")),
        ("U0:%x[0,0]\nU1:%x[0,0]/%x[0\n", format!("bad:2:12: {macros} `%x[0` in `U1:%x[0,0]/%x[0`")),
        ("Uß:%t[0,0,\"%\"]%y[0,0]\n", format!("bad:1:15: {macros} `%y[0,0]` in `Uß:%t[0,0,\"%\"]%y[0,0]`")),
        ("U1:x[0,0]\n", "bad:1:5: expected a macro such as `%x[-1,0]`, got `U1:x[0,0]`".to_owned()),
        (
            "U0:%x[0,0]\n U1:%x[0,1]/%x[0,2]\n",
            "bad:2:13: expected templates of the columns 0 to 1, got column 2 in `U1:%x[0,1]/%x[0,2]`"
                .to_owned(),
        ),
        ("# nothing\n", "bad: expected at least one template such as `U01:%x[0,0]`".to_owned()),
    ] {
        write(&place, &[("bad", text)]);
        refused(&place, &format!("{TRAIN} new.crf --template bad"), 2, &message);
    }
    for (options, message) in [
        ("--template nowhere", "nowhere: No such file or directory (os error 2)"),
        (
            "--template {file=\"chunking\",pairs=\"seen\"}",
            "--template {file=\"chunking\",pairs=\"seen\"}: unknown name `seen`; there is `all`, `observed`",
        ),
        (
            "--template {file=\"chunking\",min_count=0}",
            "--template {file=\"chunking\",min_count=0}: `min_count` must be at least 1, got 0",
        ),
        (
            "both.toml",
            "both.toml:3:1: the features come from a template file or from `features`, not from both",
        ),
        ("typo.toml", "typo.toml:2:33: unknown key `pair`, did you mean `pairs`?"),
    ] {
        let train =
            if options.ends_with("toml") { TRAIN.replace("--format conll", "") } else { TRAIN.to_owned() };
        refused(&place, &format!("{train} new.crf {options}"), 2, message);
    }
}
