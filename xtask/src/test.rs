//! `cargo xtask test`: the checks of the continuous integration.

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crf_bench::cli::terminal;
use crf_bench::{Error, Result};

use clap::Args;

use crate::house;

/// Runs the checks of the continuous integration, cheapest first, and stops at the first failure.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask test
  cargo xtask test --house            # only the rules of the house: folders, names, comments, documents
  cargo xtask test --cases 100        # only the tests, every property test with 100 times its cases
  CRF_DATA=~/data cargo xtask test    # also the tests that need data files")]
pub(crate) struct TestArgs {
    /// Checks only folders, names, comments and documents: one second.
    #[arg(long)]
    house: bool,
    /// Runs only the tests, and draws this many times the cases of every property test.
    #[arg(long, value_name = "FACTOR", conflicts_with = "house", value_parser = clap::value_parser!(u32).range(1..))]
    cases: Option<u32>,
}

/// Runs every check, cheapest first, until one fails.
pub(crate) fn run(args: &TestArgs, out: &mut dyn Write) -> Result<ExitCode> {
    if let Some(factor) = args.cases {
        tests(out, factor)?;
        return Ok(ExitCode::SUCCESS);
    }
    rules(out)?;
    if args.house {
        return Ok(ExitCode::SUCCESS);
    }
    step(out, &["fmt", "--all", "--check"], &[])?;
    if has_deny() {
        step(out, &["deny", "check", "licenses", "bans", "sources"], &[])?;
    } else {
        writeln!(out, "cargo-deny is not installed: licenses, bans and sources were not checked")
            .map_err(terminal)?;
    }
    step(out, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])?;
    let library =
        ["clippy", "--package", "crf-bench", "--lib", "--no-default-features", "--", "-D", "warnings"];
    step(out, &library, &[])?;
    first_experiment(out)?;
    tests(out, 1)?;
    step(out, &["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    Ok(ExitCode::SUCCESS)
}

/// Runs all tests, with `factor` times the cases of every property test; those that need data files
/// as well if `CRF_DATA` says where they are.
fn tests(out: &mut dyn Write, factor: u32) -> Result<()> {
    let mut args = vec!["test", "--workspace"];
    if factor > 1 {
        args.push("--no-fail-fast");
    }
    if std::env::var_os("CRF_DATA").is_some() {
        args.extend(["--", "--include-ignored"]);
    }
    step(out, &args, &[("CRF_TEST_CASES", &factor.to_string())])
}

/// Fails where the sources or the documents break a rule of the house.
fn rules(out: &mut dyn Write) -> Result<()> {
    writeln!(out, "▶ the rules of the house").map_err(terminal)?;
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let root = root.canonicalize().map_err(Error::io(root))?;
    let offences = house::offences(&root)?;
    offences.iter().try_for_each(|offence| writeln!(out, "{offence}")).map_err(terminal)?;
    if offences.is_empty() { Ok(()) } else { Err(Error::Command("cargo xtask test --house".to_owned())) }
}

/// Runs the README's first experiment and its report with this program.
fn first_experiment(out: &mut dyn Write) -> Result<()> {
    let ours = std::env::current_exe().map_err(Error::io("this program"))?;
    let quickstart =
        ["experiment", "experiments/quickstart.toml", "--check", "--out", "target/ci/quickstart"];
    for args in [&quickstart[..], &["report", "--results", "target/ci"]] {
        run_step(out, "crf", Command::new(&ours), args, &[])?;
    }
    Ok(())
}

fn step(out: &mut dyn Write, args: &[&str], variables: &[(&str, &str)]) -> Result<()> {
    run_step(out, "cargo", cargo(), args, variables)
}

/// Runs a program that goes by `name` in messages; what it says goes to the terminal.
fn run_step(
    out: &mut dyn Write,
    name: &str,
    mut program: Command,
    args: &[&str],
    variables: &[(&str, &str)],
) -> Result<()> {
    let text = format!("{name} {}", args.join(" "));
    writeln!(out, "▶ {text}").and_then(|()| out.flush()).map_err(terminal)?;
    let status = program.args(args).envs(variables.iter().copied()).status().map_err(Error::io(name))?;
    if status.success() { Ok(()) } else { Err(Error::Command(text)) }
}

fn has_deny() -> bool {
    let quiet = cargo().args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// The cargo that runs this program, or the one in the path.
fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
