//! `cargo xtask compare`: the toolkit beside other programs.

use std::io::{self, Write};
use std::num::NonZeroU32;
use std::path::Path;
use std::process::{Command, ExitCode};

use clap::Args;

use crf_bench::cli::terminal;
use crf_bench::{Error, Result};

/// Compares the toolkit with CRFsuite and scikit-learn on the same attributes of CoNLL-2000.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  CRF_DATA=~/data cargo xtask compare
  CRF_DATA=~/data cargo xtask compare --dense --iterations 20
  mkdir -p results/peers && CRF_DATA=~/data cargo xtask compare --json > results/peers/conll2000.json    # for `report`

Needs `conll2000/train.txt.gz` and `conll2000/test.txt.gz` below CRF_DATA, and Python 3 with pip, which installs the \
other programs into `target/peers`; without them it prints a note and exits with 0. The programs run one after the \
other, each in its own process: about ten minutes, or one with --quick.")]
pub(crate) struct CompareArgs {
    /// Pairs every attribute with every label, not only with those that occur together.
    #[arg(long)]
    dense: bool,
    /// Iterations of L-BFGS, and epochs of the perceptron; 50 if omitted, 10 with --quick.
    #[arg(long, value_name = "K")]
    iterations: Option<NonZeroU32>,
    /// Uses 1,000 sentences and one round.
    #[arg(long)]
    quick: bool,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Starts the script that runs all programs one after the other; this program is one of them.
pub(crate) fn run(args: &CompareArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let ours = std::env::current_exe().map_err(Error::io("this program"))?;
    // The program is `target/release/xtask`.
    let target = ours.ancestors().nth(2).unwrap_or(Path::new("target"));
    let mut python = Command::new("python3");
    python.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/compare.py"));
    python.arg("--ours").arg(&ours).arg("--work").arg(target.join("peers"));
    python.args(args.iterations.iter().flat_map(|k| ["--iterations".to_owned(), k.to_string()]));
    let switches = [("--dense", args.dense), ("--quick", args.quick), ("--json", args.json)];
    python.args(switches.iter().filter(|(_, on)| *on).map(|(name, _)| name));
    match python.status() {
        Ok(status) if status.success() => Ok(ExitCode::SUCCESS),
        Ok(_) => Ok(ExitCode::FAILURE),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            writeln!(out, "skipped: there is no `python3` here to run the other programs")
                .map_err(terminal)?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => Err(Error::io("python3")(error)),
    }
}
