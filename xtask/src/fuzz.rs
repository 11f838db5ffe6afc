//! `cargo xtask fuzz`: long runs of the fuzz targets.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use clap::Args;
use crf_bench::cli::terminal;
use crf_bench::{Error, Result};

/// Runs fuzz targets under libFuzzer, which looks for inputs that break a promise.
///
/// Needs cargo-fuzz (`cargo install cargo-fuzz`) and a C++ compiler; the stable toolchain will do.
/// New inputs go to `target/fuzz`. One that breaks a promise ends the run, and its file is named.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask fuzz                       # every target for a minute
  cargo xtask fuzz model --minutes 60
  cargo xtask fuzz csv --runs 10000000   # ends after so many inputs, or after --minutes")]
pub(crate) struct FuzzArgs {
    /// Names of targets; all of them if none is given.
    targets: Vec<String>,
    /// Minutes for each target.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    minutes: u32,
    /// Number of inputs for each target; as many as the time allows if not given.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,
}

/// Folder of the targets, below that of the workspace.
const FOLDER: &str = "crf-bench/fuzz";
/// Number of seconds that one input may take.
const SECONDS: u32 = 20;
/// Megabytes that a target may use.
const MEGABYTES: u32 = 2048;

/// Runs the targets one after the other, until one finds something.
pub(crate) fn run(args: &FuzzArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let root = root.canonicalize().map_err(Error::io(root))?;
    let known = target_names(&root.join(FOLDER).join("corpus"))?;
    if let Some(name) = args.targets.iter().find(|name| !known.contains(name)) {
        let message = format!("no such target; there are {}", known.join(", "));
        return Err(Error::config(format!("fuzz {name}"), message));
    }
    if !has_cargo_fuzz() {
        let message = "cargo-fuzz is not installed: `cargo install cargo-fuzz`";
        return Err(Error::config("fuzz".to_owned(), message));
    }
    let chosen = if args.targets.is_empty() { &known } else { &args.targets };
    for name in chosen {
        writeln!(out, "▶ {name}").and_then(|()| out.flush()).map_err(terminal)?;
        fuzz(&root, name, args)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Names of the targets: the folders of their seeds.
fn target_names(corpus: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(corpus).map_err(Error::io(corpus))?;
    let mut names = entries
        .map(|entry| Ok(entry.map_err(Error::io(corpus))?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<Vec<String>>>()?;
    names.sort();
    Ok(names)
}

fn fuzz(root: &Path, name: &str, args: &FuzzArgs) -> Result<()> {
    let work = root.join("target/fuzz");
    let (found, broken) = (work.join("corpus").join(name), work.join("artifacts").join(name));
    for folder in [&found, &broken] {
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
    }
    let mut command = Command::new("cargo");
    command.current_dir(root).args(["fuzz", "run", "--fuzz-dir", FOLDER, "--sanitizer", "none"]);
    // libFuzzer writes to the first folder only, so the seeds stay as they are.
    command.args(["--features", "libfuzzer", name]).arg(&found);
    command.arg(root.join(FOLDER).join("corpus").join(name));
    command.args(["--", "-print_final_stats=1"]);
    command.arg(format!("-max_total_time={}", 60 * args.minutes));
    command.arg(format!("-timeout={SECONDS}"));
    command.arg(format!("-rss_limit_mb={MEGABYTES}"));
    command.arg(format!("-artifact_prefix={}/", broken.display()));
    command.args(args.runs.map(|runs| format!("-runs={runs}")));
    let status = command.status().map_err(Error::io("cargo fuzz"))?;
    if status.success() { Ok(()) } else { Err(Error::Command(format!("cargo xtask fuzz {name}"))) }
}

fn has_cargo_fuzz() -> bool {
    let quiet = Command::new("cargo")
        .args(["fuzz", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    quiet.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_target_is_refused_with_the_known_ones() {
        let args = FuzzArgs { targets: vec!["modle".to_owned()], minutes: 1, runs: None };
        let message = run(&args, &mut Vec::new()).expect_err("no such target").to_string();
        assert!(message.contains("modle") && message.contains("model"), "{message}");
    }
}
