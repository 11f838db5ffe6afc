//! Every mistake has one message that says where it is, and an exit code: 2 for options and
//! configs, 1 otherwise.

use std::path::PathBuf;
use std::sync::LazyLock;

use crate::workbench::{crf, directory, error_message};

/// A directory with a good model and many things that are not good.
static PLACE: LazyLock<PathBuf> = LazyLock::new(|| {
    let place = directory("bad-inputs");
    let file = |name: &str, contents: &[u8]| std::fs::write(place.join(name), contents).expect("a file");
    file("empty.crfsuite", b"");
    file("blank.crfsuite", b"\n\n\n");
    file("nan.crfsuite", b"A\tx\nB\tx:nan\n");
    file("latin.crfsuite", b"A\tcaf\xe9\n");
    file("snow.crfsuite", b"snow\tcoat\n");
    file("labelled.conll", b"the DT O\ncat NN B\n");
    file("unlabelled.conll", b"the DT\ncat NN\n");
    file("ragged.conll", b"the DT O\ncat O\n");
    file("typo.toml", b"format = \"crfsuite\"\n\n[learner]\ntype = \"mle\"\nl3 = 1.0\n");
    file("range.toml", b"format = \"crfsuite\"\n\n[learner]\ntype = \"mle\"\nl1 = -1.0\n");
    file("syntax.toml", b"format = = \"crfsuite\"\n");
    let line = "train --format crfsuite --data train.crfsuite --model good.crf --set learner.l2=1";
    crf(&place, line).assert().success();
    let line = "train --format conll --data labelled.conll --model columns.crf --set learner.l2=1";
    crf(&place, line).assert().success();
    let good = std::fs::read(place.join("good.crf")).expect("a model");
    file("empty.crf", b"");
    file("junk.crf", b"lCRF is how another program's models begin, with a good deal more behind it");
    file("truncated.crf", &good[..100]);
    let flipped = |at: usize, mask: u8| {
        let mut bytes = good.clone();
        bytes[at] ^= mask;
        bytes
    };
    file("newer.crf", &flipped(8, 3));
    file("flipped.crf", &flipped(good.len() - 1, 1));
    place
});

/// Runs a line and compares the first line of its message, and its exit code.
fn refused(line: &str, code: i32, message: &str) {
    let output = crf(&PLACE, line).output().expect("the program runs");
    let error = error_message(&output.stderr);
    assert_eq!(error.lines().next(), Some(message), "{line}");
    assert_eq!(output.status.code(), Some(code), "{line}: {error}");
    assert!(output.stdout.is_empty(), "{line}");
    assert!(!PLACE.join("new.crf").exists(), "{line} left a model");
}

macro_rules! refused {
    ($($name:ident: $line:expr, $code:literal, $message:expr;)*) => {$(
        #[test]
        fn $name() {
            refused($line, $code, $message);
        }
    )*};
}

refused! {
    missing_data: "train --format crfsuite --data nowhere.crfsuite --model new.crf", 1,
        "nowhere.crfsuite: No such file or directory (os error 2)";
    empty_data: "train --format crfsuite --data empty.crfsuite --model new.crf", 1,
        "empty.crfsuite:1:1: expected a sequence, got an empty file";
    blank_data: "train --format crfsuite --data blank.crfsuite --model new.crf", 1,
        "blank.crfsuite:3:1: expected a sequence, got only blank lines";
    not_a_number: "train --format crfsuite --data nan.crfsuite --model new.crf", 1,
        "nan.crfsuite:2:5: expected a finite number after `:` (a colon in a name is `\\:`), got `nan`";
    not_utf8: "train --format crfsuite --data latin.crfsuite --model new.crf", 1,
        "latin.crfsuite:1:6: expected UTF-8, got byte 0xe9";
    label_is_missing_in_a_line: "train --format conll --data ragged.conll --model new.crf", 1,
        "ragged.conll:2:6: expected 3 columns as in line 1, got 2";
    wrong_format: "train --format jsonl --data train.crfsuite --model new.crf", 1,
        "train.crfsuite:1:1: expected valid JSON, got an error: expected value";
    no_labels: "train --format {type=\"crfsuite\",labelled=false} --data train.crfsuite --model new.crf", 1,
        "train.crfsuite: the training data have no label at any position";
    no_feature: "train --format crfsuite --data train.crfsuite --model new.crf --features [{state=\"value\"}]", 1,
        "train.crfsuite: none of the features applies to the data, so there is nothing to train";
    // The model's place is looked at first: the data are not even there.
    model_in_no_directory: "train --format crfsuite --data nowhere.crfsuite --model nowhere/new.crf", 1,
        "nowhere/new.crf: cannot be written: No such file or directory (os error 2)";
    model_is_a_directory: "train --format crfsuite --data nowhere.crfsuite --model .", 1,
        ".: cannot be written: a directory, not the name of a file";
    model_over_the_data: "train --format crfsuite --data train.crfsuite --model train.crfsuite", 2,
        "--model train.crfsuite: would be written over train.crfsuite, which is the training data";
    trace_in_no_directory:
        "train --format crfsuite --data train.crfsuite --model new.crf --trace nowhere/trace.jsonl", 1,
        "nowhere/trace.jsonl: cannot be written: No such file or directory (os error 2)";
    unknown_format: "train --format crfsuit --data train.crfsuite --model new.crf", 2,
        "--format crfsuit: unknown name `crfsuit`, did you mean `crfsuite`?";
    no_format: "train --data train.crfsuite --model new.crf", 2,
        "--format: the data need a `format`: `conll`, `crfsuite`, `csv`, `jsonl`";
    unknown_learner: "train --format crfsuite --data train.crfsuite --model new.crf --learner mlee", 2,
        "--learner mlee: unknown name `mlee`, did you mean `mle`?";
    negative_penalty: "train --format crfsuite --data train.crfsuite --model new.crf --set learner.l2=-5", 2,
        "--set learner.l2=-5: `l2` must be a finite number of at least 0, got -5";
    penalty_of_letters: "train --format crfsuite --data train.crfsuite --model new.crf --set learner.l2=abc", 2,
        "--set learner.l2=abc: invalid type: string \"abc\", expected f64";
    penalty_of_another_program:
        "train --format crfsuite --data train.crfsuite --model new.crf --set learner.c2=1", 2,
        "--set learner.c2=1: unknown key `learner.c2`, did you mean `l2`?";
    setting_without_a_value: "train --format crfsuite --data train.crfsuite --model new.crf --set learner", 2,
        "--set learner: expected key=value";
    unknown_feature:
        "train --format crfsuite --data train.crfsuite --model new.crf --features [{state=\"atributes\"}]", 2,
        "--features [{state=\"atributes\"}]: unknown name `atributes`, did you mean `attributes`?";
    broken_feature_list: "train --format crfsuite --data train.crfsuite --model new.crf --features [{state", 2,
        "--features [{state: neither TOML nor JSON: key must be a string at line 1 column 3";
    too_much_holdout: "train --format crfsuite --data train.crfsuite --model new.crf --holdout-fraction 1.5", 2,
        "--holdout-fraction 1.5: must be between 0 and 1";
    too_little_holdout:
        "train --format crfsuite --data train.crfsuite --model new.crf --holdout-fraction 0.001", 2,
        "--holdout-fraction 0.001: leaves 0 of 40 sequences as holdout data";
    new_label_at_a_warm_start:
        "train --format crfsuite --data snow.crfsuite --model new.crf --warm-start good.crf", 1,
        "snow.crfsuite: the label `snow` is none of those of the model to start from";
    missing_config: "train nowhere.toml --data train.crfsuite --model new.crf", 2,
        "nowhere.toml: No such file or directory (os error 2)";
    typo_in_a_config: "train typo.toml --data train.crfsuite --model new.crf", 2,
        "typo.toml:5:1: unknown key `l3`, did you mean `l1`?";
    setting_out_of_range_in_a_config: "train range.toml --data train.crfsuite --model new.crf", 2,
        "range.toml:5:6: `l1` must be a finite number of at least 0, got -1";
    config_that_is_no_toml: "train syntax.toml --data train.crfsuite --model new.crf", 2,
        "syntax.toml:1:10: extra `=`, expected nothing";
    missing_model: "tag --model nowhere.crf test.crfsuite", 1,
        "nowhere.crf: expected a model file: No such file or directory (os error 2)";
    directory_for_a_model: "tag --model . test.crfsuite", 1,
        ".: expected a model file: Is a directory (os error 21)";
    empty_model: "tag --model empty.crf test.crfsuite", 1,
        "empty.crf: the file is empty; expected a model file";
    another_programs_model: "eval --model junk.crf --data test.crfsuite", 1,
        "junk.crf: not a model file: it does not begin with `CRFMODEL`";
    newer_model: "inspect --model newer.crf", 1,
        "newer.crf: version 2 of model files; this program reads version 1";
    flipped_model: "tag --model flipped.crf test.crfsuite", 1,
        "flipped.crf: damaged: the checksum is not that of the content";
    nothing_to_tag: "tag --model good.crf empty.crfsuite", 1,
        "empty.crfsuite:1:1: expected a sequence, got an empty file";
    no_label_column: "tag --model columns.crf unlabelled.conll", 1,
        "unlabelled.conll:1:7: expected 3 columns (column1 column2 label), got 2; data without labels need \
         `--set format.label=false`";
    columns_of_another_kind: "tag --model columns.crf ragged.conll", 1,
        "ragged.conll:2:6: expected 3 columns (column1 column2 label), got 2";
    two_kinds_of_answer: "tag --model good.crf --nbest 2 --marginals test.crfsuite", 2,
        "the argument '--nbest <K>' cannot be used with '--marginals'";
    unknown_setting_of_a_format: "tag --model good.crf --set format.labeled=false test.crfsuite", 2,
        "--set format.labeled=false: unknown key `format.labeled`, did you mean `labelled`?";
    nothing_to_compare: "eval --model good.crf --data test.crfsuite --set format.labelled=false", 1,
        "test.crfsuite: the data have no label at any position, so there is nothing to compare";
    format_that_cannot_hold_the_data: "convert --from crfsuite --to conll train.crfsuite", 1,
        "`conll` cannot hold channel `attributes` of bags of attributes; `crfsuite` and `jsonl` can";
    output_in_no_directory: "convert --from crfsuite --to jsonl train.crfsuite nowhere/out.jsonl", 1,
        "nowhere/out.jsonl: cannot be written: No such file or directory (os error 2)";
}

#[test]
fn truncated_model() {
    let size = std::fs::metadata(PLACE.join("good.crf")).expect("a model").len();
    let message = format!("truncated.crf: truncated: expected {size} bytes, got 100");
    refused("tag --model truncated.crf test.crfsuite", 1, &message);
}
