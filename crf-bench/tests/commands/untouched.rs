//! Files that a command did not make are after it as they were before.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workbench::{crf, directory, run, write};

const EXPERIMENT: &str = include_str!("../copies.toml");

/// All that is below a directory: files with their content, links with their target, and the rest
/// by its kind.
fn snapshot(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let known = fs::symlink_metadata(&path).expect("a file");
            let what = if known.is_dir() {
                open.push(path.clone());
                b"a directory".to_vec()
            } else if known.is_symlink() {
                fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
            } else if known.file_type().is_fifo() {
                b"a pipe".to_vec()
            } else {
                let content = fs::read(&path).expect("a file");
                [format!("{:o} ", known.mode()).into_bytes(), content].concat()
            };
            found.insert(path.strip_prefix(root).expect("a path below").to_owned(), what);
        }
    }
    found
}

/// A directory with inputs of every command, and with files that are none of theirs.
fn populated(name: &str) -> PathBuf {
    let place = directory(name);
    write(
        &place,
        &[
            ("e.toml", EXPERIMENT),
            ("g.jsonl", "{\"cards\":[2],\"node\":[[0,1]]}\n"),
            ("conf.toml", "format = \"crfsuite\"\n"),
            (".m.crf.backup", "mine"),
            (".hidden", "mine"),
            (".env", "mine"),
            ("journal", "my diary"),
            ("index.html", "my page"),
            ("results.jsonl", "mine"),
            ("notes.txt", "mine"),
            ("precious", "mine"),
        ],
    );
    run(&place, "train --format crfsuite --data train.crfsuite --model w.crf --set learner.l2=1");
    symlink("precious", place.join("a link")).expect("a link");
    assert!(Command::new("mkfifo").arg(place.join("a pipe")).status().expect("mkfifo").success());
    run(&place, "experiment e.toml --out runs/whole");
    for shard in ["1", "2"] {
        run(&place, &format!("experiment e.toml --shard {shard}/2 --out runs/part{shard}"));
    }
    write(
        &place.join("runs/whole"),
        &[(".gitignore", "mine"), (".notes.12", "mine"), ("journal.txt", "mine")],
    );
    fs::create_dir(place.join("runs/whole/.ipynb_checkpoints")).expect("a directory");
    fs::create_dir(place.join("experiments")).expect("a directory");
    fs::copy(place.join("e.toml"), place.join("experiments/e.toml")).expect("a file");
    place
}

#[test]
fn no_command_touches_a_file_that_it_did_not_make() {
    let place = populated("untouched");
    let train = "train --format crfsuite --set learner.l2=1 --data train.crfsuite";
    // Each line, its exit code, and what it may make or change.
    let lines: Vec<(String, i32, &[&str])> = [
        (format!("{train} --model m.crf"), 0, &["m.crf"][..]),
        (format!("{train} --model m.crf --trace t.jsonl --holdout test.crfsuite"), 0, &["m.crf", "t.jsonl"]),
        (format!("{train} --model m.crf --warm-start w.crf"), 0, &["m.crf"]),
        (format!("{train} --model m.crf --tune learner.l2=1,2 --folds 2"), 0, &["m.crf"]),
        (format!("{train} --model nowhere/m.crf"), 1, &[]),
        (format!("{train} --model runs"), 1, &[]),
        (format!("{train} --model m.crf --trace runs"), 1, &[]),
        (format!("{train} --model m.crf --trace w.crf --warm-start w.crf"), 2, &[]),
        (format!("{train} --model m.crf --trace e.toml --set nothing=1"), 2, &[]),
        ("train conf.toml --data nowhere --model precious --trace notes.txt".to_owned(), 1, &[]),
        ("train conf.toml --data w.crf --model precious --trace notes.txt".to_owned(), 1, &[]),
        ("tag --model w.crf test.crfsuite".to_owned(), 0, &[]),
        ("tag --model w.crf --nbest 2 test.crfsuite".to_owned(), 0, &[]),
        ("tag --model precious test.crfsuite".to_owned(), 1, &[]),
        ("eval --model w.crf --data test.crfsuite".to_owned(), 0, &[]),
        ("inspect --model w.crf".to_owned(), 0, &[]),
        ("convert --from crfsuite --to jsonl train.crfsuite made.jsonl".to_owned(), 0, &["made.jsonl"]),
        ("convert --from crfsuite --to jsonl train.crfsuite ./train.crfsuite".to_owned(), 2, &[]),
        ("convert --from jsonl --to crfsuite train.crfsuite precious".to_owned(), 1, &[]),
        ("infer g.jsonl".to_owned(), 0, &[]),
        ("list".to_owned(), 0, &[]),
        ("explain learner mle".to_owned(), 0, &[]),
        ("schema".to_owned(), 0, &[]),
        ("check e.toml".to_owned(), 0, &[]),
        ("data list".to_owned(), 0, &[]),
        ("data check --into .".to_owned(), 0, &[]),
        ("show tag --frames 3 --out made.svg --export made.csv".to_owned(), 0, &["made.svg", "made.csv"]),
        ("show tag --frames 3 --model w.crf --out w.crf".to_owned(), 2, &[]),
        ("show tag --frames 3 --out made.svg --export ./made.svg".to_owned(), 2, &[]),
        ("experiment e.toml --out runs/new".to_owned(), 0, &["runs/new"]),
        ("experiment e.toml --out runs/whole".to_owned(), 0, &[]),
        ("experiment e.toml --out .".to_owned(), 2, &[]),
        ("experiment e.toml --out=".to_owned(), 2, &[]),
        ("report --results runs --out=".to_owned(), 2, &[]),
        ("experiment e.toml experiments/e.toml --out runs/two".to_owned(), 2, &[]),
        ("experiment runs/whole/config.toml --out runs/whole --set trials=1".to_owned(), 2, &[]),
        ("merge e.toml runs/part1 --out runs/none".to_owned(), 2, &[]),
        ("merge e.toml runs/part1 runs/part2 --out runs/part2".to_owned(), 2, &[]),
        ("merge e.toml runs/part1 runs/part2 --out runs/joined".to_owned(), 0, &["runs/joined"]),
        ("reproduce experiments --out reproduced".to_owned(), 0, &["reproduced"]),
        ("report --results runs --out site".to_owned(), 0, &["site"]),
        ("report --results runs --out .".to_owned(), 2, &[]),
        ("report --results runs --out runs/whole".to_owned(), 2, &[]),
    ]
    .into();
    let before = snapshot(&place);
    for (line, code, made) in lines {
        let output = crf(&place, &line).timeout(std::time::Duration::from_secs(300)).output().expect("runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{line}: {said}");
        let mut after = snapshot(&place);
        for name in made {
            assert!(after.contains_key(Path::new(name)), "{line} did not make {name}");
            after.retain(|path, _| !path.starts_with(name));
            let path = place.join(name);
            let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        }
        for path in before.keys().chain(after.keys()) {
            assert_eq!(before.get(path), after.get(path), "{line} touched {}", path.display());
        }
    }
}

#[test]
fn a_report_goes_into_a_new_directory_or_an_older_report() {
    let place = populated("report-place");
    run(&place, "report --results runs --out site");
    run(&place, "report --results runs --out site");
    // As if the first report had been interrupted.
    fs::remove_file(place.join("site/index.html")).expect("a file");
    run(&place, "report --results runs --out site");
    fs::create_dir(place.join("mine")).expect("a directory");
    fs::write(place.join("mine/index.html"), "my page").expect("a file");
    let output = crf(&place, "report --results runs --out mine").output().expect("runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("mine: the directory holds something else than a report"), "{said}");
    assert_eq!(fs::read(place.join("mine/index.html")).expect("a file"), b"my page");
}

#[test]
fn a_report_survives_loops_pipes_and_damage_and_names_them() {
    let place = populated("report-damage");
    symlink("..", place.join("runs/whole/up")).expect("a link");
    symlink("../..", place.join("runs/whole/far-up")).expect("a link");
    fs::create_dir_all(place.join("criterion/a/new")).expect("a directory");
    symlink("..", place.join("criterion/a/up")).expect("a link");
    for pipe in ["criterion/a/new/benchmark.json", "runs/whole/pipe"] {
        assert!(Command::new("mkfifo").arg(place.join(pipe)).status().expect("mkfifo").success());
    }
    let said = run(&place, "report --results runs --out site --criterion criterion");
    assert!(said.starts_with("1 run in "), "a loop shows a run again and again: {said}");
    for (name, damage) in [("a", "run.json"), ("b", "figure.svg")] {
        let copy = place.join("runs").join(name);
        fs::create_dir(&copy).expect("a directory");
        for (file, _) in [
            ("run.json", ()),
            ("results.csv", ()),
            ("results.jsonl", ()),
            ("timings.jsonl", ()),
            ("config.toml", ()),
            ("figure.svg", ()),
        ] {
            fs::copy(place.join("runs/whole").join(file), copy.join(file)).expect("a file");
        }
        fs::remove_file(copy.join(damage)).expect("a file");
        assert!(Command::new("mkfifo").arg(copy.join(damage)).status().expect("mkfifo").success());
    }
    let damaged = place.join("runs/c");
    fs::create_dir(&damaged).expect("a directory");
    fs::write(damaged.join("run.json"), "{\"title\": 1").expect("a file");
    let mut report = crf(&place, "report --results runs --out site");
    let output =
        report.timeout(std::time::Duration::from_secs(60)).output().expect("it does not wait for pipes");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for name in ["runs/a/run.json", "runs/b/figure.svg", "runs/c/run.json"] {
        assert!(said.contains(&format!("omitted: {name}")), "{name}: {said}");
    }
    assert!(said.contains("1 run in ") && place.join("site/runs/whole/index.html").exists(), "{said}");
}

#[test]
fn a_run_does_not_wait_for_a_pipe_of_the_name_of_its_file() {
    let place = populated("run-pipe");
    for name in ["figure.svg", "journal"] {
        let file = place.join("runs/whole").join(name);
        fs::remove_file(&file).expect("a file");
        assert!(Command::new("mkfifo").arg(&file).status().expect("mkfifo").success());
        let mut command = crf(&place, "experiment e.toml --out runs/whole");
        let output = command.timeout(std::time::Duration::from_secs(60)).output().expect("it does not wait");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(name) && said.contains("expected a file, got a pipe"), "{said}");
        assert_ne!(output.status.code(), Some(0));
        assert!(fs::symlink_metadata(&file).expect("a pipe").file_type().is_fifo());
    }
}
