//! No output is written over an input, and links, pipes and devices stay what they are.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workbench::{crf, directory};

const TRAIN: &str = "train --format crfsuite --set learner.l2=1 --data";

fn place(name: &str) -> PathBuf {
    let place = directory(name);
    fs::copy(place.join("train.crfsuite"), place.join("holdout.crfsuite")).expect("a file");
    fs::write(place.join("conf.toml"), "seed = 1\n").expect("a file");
    fs::hard_link(place.join("train.crfsuite"), place.join("hard.link")).expect("a link");
    symlink("train.crfsuite", place.join("soft.link")).expect("a link");
    place
}

fn entries(place: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = fs::read_dir(place).expect("a directory").map(|entry| entry.expect("an entry").path());
    let mut all: Vec<_> = files.map(|path| (path.clone(), fs::read(&path).unwrap_or_default())).collect();
    all.sort();
    all
}

#[test]
fn no_output_of_a_training_replaces_one_of_its_inputs() {
    let place = place("overwritten");
    let before = entries(&place);
    for (rest, said) in [
        (
            "train.crfsuite --model m.crf --trace train.crfsuite",
            "--trace train.crfsuite: would be written over train.crfsuite, which is the training data",
        ),
        ("train.crfsuite --model ./train.crfsuite", "which is the training data"),
        ("train.crfsuite --model soft.link", "which is the training data"),
        ("train.crfsuite --model hard.link", "which is the training data"),
        ("train.crfsuite --model ../overwritten/train.crfsuite", "which is the training data"),
        ("train.crfsuite --holdout holdout.crfsuite --model holdout.crfsuite", "which is the holdout data"),
        (
            "train.crfsuite --holdout holdout.crfsuite --model m.crf --trace ./holdout.crfsuite",
            "which is the holdout data",
        ),
        (
            "train.crfsuite --model new --trace ./new",
            "--trace ./new: would be written over new, which is --model",
        ),
    ] {
        let output = crf(&place, &format!("{TRAIN} {rest}")).output().expect("the program runs");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(said), "{rest}: {error}");
        assert_eq!(output.status.code(), Some(2), "{rest}");
        assert_eq!(entries(&place), before, "{rest}");
    }
    let line = "train conf.toml --format crfsuite --data train.crfsuite --model conf.toml";
    let output = crf(&place, line).output().expect("the program runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("which is the config"));
    let line = "convert --from crfsuite --to jsonl train.crfsuite ./train.crfsuite";
    let output = crf(&place, line).output().expect("the program runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("which is the input"));
    assert_eq!(entries(&place), before);
}

#[test]
fn a_link_is_followed_and_stays_a_link() {
    let place = place("followed");
    fs::write(place.join("real.crf"), "old").expect("a file");
    symlink("real.crf", place.join("link.crf")).expect("a link");
    symlink("later.crf", place.join("dangling.crf")).expect("a link");
    for (link, target) in [("link.crf", "real.crf"), ("dangling.crf", "later.crf")] {
        crf(&place, &format!("{TRAIN} train.crfsuite --model {link}")).assert().success();
        assert!(fs::symlink_metadata(place.join(link)).expect("a link").is_symlink());
        assert!(fs::read(place.join(target)).expect("a model").starts_with(b"CRFMODEL"));
    }
}

#[test]
fn pipes_and_devices_are_written_through() {
    let place = place("through");
    assert!(Command::new("mkfifo").arg(place.join("pipe")).status().expect("mkfifo").success());
    let reader = {
        let pipe = place.join("pipe");
        std::thread::spawn(move || fs::read(pipe).expect("a model"))
    };
    crf(&place, &format!("{TRAIN} train.crfsuite --model pipe")).assert().success();
    assert!(fs::symlink_metadata(place.join("pipe")).expect("a pipe").file_type().is_fifo());
    assert!(reader.join().expect("a reader").starts_with(b"CRFMODEL"));
    crf(&place, &format!("{TRAIN} train.crfsuite --model /dev/null")).assert().success();
    assert!(fs::metadata("/dev/null").expect("a device").file_type().is_char_device());
    let line = "convert --from crfsuite --to crfsuite train.crfsuite /dev/stdout";
    let output = crf(&place, line).output().expect("the program runs");
    assert!(output.status.success() && !output.stdout.is_empty());
}

#[test]
fn a_training_that_fails_leaves_the_last_trace() {
    let place = place("last-trace");
    fs::write(place.join("trace.jsonl"), "the last trace").expect("a file");
    fs::write(place.join("bad.crfsuite"), "A\tx:nan\n").expect("a file");
    let line = format!("{TRAIN} bad.crfsuite --model m.crf --trace trace.jsonl");
    crf(&place, &line).assert().failure();
    assert_eq!(fs::read(place.join("trace.jsonl")).expect("a file"), b"the last trace");
    crf(&place, &format!("{TRAIN} train.crfsuite --model m.crf --trace trace.jsonl")).assert().success();
    assert!(fs::read(place.join("trace.jsonl")).expect("a file").starts_with(b"{"));
    assert!(!entries(&place).iter().any(|(path, _)| path.to_string_lossy().contains("/.")));
}
