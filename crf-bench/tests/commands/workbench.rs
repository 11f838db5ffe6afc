//! Helpers of the command tests: a directory with data, and the program.
#![allow(dead_code, reason = "every test file uses a part of this one")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::Value;

/// A directory of its own for each test, with data to train on.
pub(crate) fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("train.crfsuite"), weather(40, 1)).expect("a file");
    std::fs::write(directory.join("test.crfsuite"), weather(10, 2)).expect("a file");
    directory
}

/// The output of a line, which must succeed.
pub(crate) fn run(place: &Path, line: &str) -> String {
    piped(place, line, "")
}

/// The output of a line with `input` on standard input.
pub(crate) fn piped(place: &Path, line: &str, input: &str) -> String {
    let output = crf(place, line).write_stdin(input).assert().success();
    String::from_utf8(output.get_output().stdout.clone()).expect("UTF-8")
}

/// The JSON that a line prints.
pub(crate) fn json(place: &Path, line: &str) -> Value {
    serde_json::from_str(&run(place, line)).expect("JSON")
}

/// The config that a model carries.
pub(crate) fn config(place: &Path, model: &str) -> String {
    json(place, &format!("inspect --json --model {model}"))["config"].as_str().expect("a config").to_owned()
}

/// Writes files into a directory.
pub(crate) fn write(place: &Path, files: &[(&str, &str)]) {
    files.iter().for_each(|(name, text)| std::fs::write(place.join(name), text).expect("a file"));
}

/// Runs a line that must be refused, and compares its message, its exit code, and that it leaves no
/// `new.crf`.
pub(crate) fn refused(place: &Path, line: &str, code: i32, message: &str) {
    let output = crf(place, line).output().expect("the program runs");
    assert_eq!(
        (error_message(&output.stderr).as_str(), output.status.code()),
        (message, Some(code)),
        "{line}"
    );
    assert!(!place.join("new.crf").exists(), "{line} left a model");
}

/// The message of an error, without the `error: ` in front and the last line end.
pub(crate) fn error_message(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let message = text.strip_prefix("error: ").unwrap_or_else(|| panic!("no error: {text}"));
    message.trim_end().to_owned()
}

/// The program with the words of a line as arguments, in a directory.
pub(crate) fn crf(directory: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crf"));
    command.current_dir(directory).args(line.split_whitespace());
    command
}

/// Weather that lasts and what people carry in it, in CRFsuite's format.
pub(crate) fn weather(n_sequences: usize, seed: u64) -> String {
    let (mut text, mut state) = (String::new(), seed);
    // The upper bits of a linear congruential generator (Knuth's MMIX).
    let mut one_in = |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n == 0
    };
    for _ in 0..n_sequences {
        let mut rain = one_in(2);
        for t in 0..6 {
            rain ^= one_in(5);
            let wet = rain ^ one_in(6);
            let (label, thing) = if rain { ("B-rain", "umbrella") } else { ("O", "hat") };
            let thing = if wet == rain { thing } else { "book" };
            let first = if t == 0 { "\tfirst" } else { "" };
            let _ = writeln!(text, "{label}\t{thing}\thour:{}{first}", f64::from(t) / 10.0);
        }
        text.push('\n');
    }
    text
}
