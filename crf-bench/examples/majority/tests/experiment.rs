//! The learner runs in an experiment file beside those of the toolkit, and is listed and explained
//! with them.

use std::path::Path;
use std::process::Command;

fn majority(args: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_majority"));
    let output =
        program.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn it_runs_beside_the_learners_of_the_toolkit() {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("majority");
    let _ = std::fs::remove_dir_all(&out);
    let said = majority(&["experiment", "majority.toml", "--check", "--out", out.to_str().expect("UTF-8")]);
    assert!(said.contains("holds   who looks at the observations makes fewer errors"), "{said}");
}

#[test]
fn it_is_listed_and_explained() {
    assert!(majority(&["list", "learner"]).contains("majority"));
    let said = majority(&["explain", "learner", "majority"]);
    assert!(said.contains("smoothing = 1.0\n    a number, above 0. Added to every count"), "{said}");
}
