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

#[test]
fn standard_input_and_output_are_known_by_their_files() {
    let place = place("redirected");
    let open =
        |name: &str| fs::OpenOptions::new().read(true).append(true).open(place.join(name)).expect("a file");
    let run = |line: &str, input: Option<&str>, output: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crf"));
        command.current_dir(&place).args(line.split_whitespace());
        input.map(|input| command.stdin(open(input)));
        output.map(|output| command.stdout(open(output)));
        command.output().expect("the program runs")
    };
    let trained = run(&format!("{TRAIN} train.crfsuite --model m.crf"), None, None);
    assert!(trained.status.success());
    let before = entries(&place);
    for (line, input, output, said) in [
        (
            format!("{TRAIN} - --model train.crfsuite"),
            Some("train.crfsuite"),
            None,
            "which is the training data",
        ),
        ("tag --model m.crf train.crfsuite".to_owned(), None, Some("train.crfsuite"), "which is the data"),
        ("tag --model m.crf".to_owned(), Some("hard.link"), Some("train.crfsuite"), "which is the data"),
        ("tag --model m.crf holdout.crfsuite".to_owned(), None, Some("m.crf"), "which is the model"),
        ("infer train.crfsuite".to_owned(), None, Some("train.crfsuite"), "which is the graphs"),
        (
            "convert --from crfsuite --to jsonl train.crfsuite".to_owned(),
            None,
            Some("train.crfsuite"),
            "which is the input",
        ),
    ] {
        let answer = run(&line, input, output);
        let error = String::from_utf8_lossy(&answer.stderr).into_owned();
        assert!(error.contains(said), "{line}: {error}");
        assert_eq!(answer.status.code(), Some(2), "{line}");
        assert_eq!(entries(&place), before, "{line}");
    }
    // What a shell opened to append is appended to.
    fs::write(place.join("log"), "before\n").expect("a file");
    let answer = run("convert --from crfsuite --to crfsuite train.crfsuite /dev/stdout", None, Some("log"));
    assert!(answer.status.success(), "{answer:?}");
    assert!(fs::read(place.join("log")).expect("a file").starts_with(b"before\n"));
}

#[test]
fn drafts_of_killed_processes_are_swept_and_those_in_use_are_not() {
    let place = place("stale-drafts");
    let drafts = [".m.crf.1", ".m.crf.99999", ".m.crf.backup", ".m.crf.0x1", ".n.crf.1", ".m.crf.007"];
    drafts.iter().for_each(|draft| fs::write(place.join(draft), "a draft").expect("a file"));
    let held = fs::File::options().write(true).open(place.join(".m.crf.99999")).expect("a file");
    held.lock().expect("a lock");
    crf(&place, &format!("{TRAIN} train.crfsuite --model m.crf")).assert().success();
    let left: Vec<&str> = drafts.into_iter().filter(|draft| place.join(draft).exists()).collect();
    assert_eq!(left, [".m.crf.99999", ".m.crf.backup", ".m.crf.0x1", ".n.crf.1", ".m.crf.007"]);
}

#[test]
fn a_new_file_in_the_memory_of_the_system_is_an_ordinary_file() {
    let place = place("dev-shm");
    let target = format!("/dev/shm/crf-test-{}.crf", std::process::id());
    if Path::new("/dev/shm").is_dir() {
        crf(&place, &format!("{TRAIN} train.crfsuite --model {target}")).assert().success();
        assert!(fs::read(&target).expect("a model").starts_with(b"CRFMODEL"));
        fs::remove_file(&target).expect("a file");
    }
}

#[test]
fn the_summary_counts_the_bytes_that_a_pipe_took() {
    let place = place("counted");
    crf(&place, &format!("{TRAIN} train.crfsuite --model m.crf")).assert().success();
    let bytes = fs::metadata(place.join("m.crf")).expect("a model").len();
    let output = crf(&place, &format!("{TRAIN} train.crfsuite --model /dev/null")).output().expect("runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains(&format!("/dev/null, {bytes} bytes")), "{said}");
}

#[test]
fn the_longest_name_of_a_file_can_be_written() {
    let place = place("long-name");
    let name = "m".repeat(255);
    crf(&place, &format!("{TRAIN} train.crfsuite --model {name}")).assert().success();
    assert!(fs::read(place.join(name)).expect("a model").starts_with(b"CRFMODEL"));
}
