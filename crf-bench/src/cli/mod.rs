//! The command line: `cargo xtask experiment`, `list`, `test`.

mod experiment;
mod list;
mod test;

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::error::{Error, Result};
use crate::progress;

/// Reproduces experiments with conditional random fields and looks after the workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", version)]
pub struct Cli {
    /// Logs what is done; twice: every iteration of training. RUST_LOG says more precisely what to log.
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Experiment(ExperimentArgs),
    List(ListArgs),
    Test(TestArgs),
}

/// Runs experiment files and reports their results and claims.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask experiment experiments/quickstart.toml
  cargo xtask experiment experiments/vail/*.toml --quick --check
  cargo xtask experiment experiments/vail/fig-2-3.toml --threads 4 --out /tmp/fig-2-3
  cargo xtask experiment experiments/quickstart.toml --set trials=20 --set seed=2
  cargo xtask experiment experiments/quickstart.toml --set methods.CRF.learner.l2=1.0
  cargo xtask experiment experiments/quickstart.toml --set 'sweep.\"dataset.copies\"=[1, 2]'

Exit code: 0 when all is well, 2 for a wrong config, 1 when a run or, with --check, a claim fails.")]
pub struct ExperimentArgs {
    /// Experiment files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Lays each file's `quick` table over it: seconds instead of hours.
    #[arg(long)]
    quick: bool,
    /// Threads to use; all cores unless given. Results do not depend on it.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Directory of the results; `results/<name of the file>` unless given.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Another value for a key of the config, after `--quick`.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Fails when a claim fails.
    #[arg(long)]
    check: bool,
}

/// Lists the plugins that configs can name.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask list
  cargo xtask list learner")]
pub struct ListArgs {
    /// Only plugins of this kind: `learner`, `source`, `prototype`, …
    kind: Option<String>,
}

/// Runs what the continuous integration runs, cheapest first, and stops at the first failure.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  cargo xtask test
  CRF_DATA=~/data cargo xtask test    # also the tests that need data files")]
pub struct TestArgs {}

impl Cli {
    /// Runs the command; what it has to say goes to `out`.
    pub fn run(&self, out: &mut dyn Write) -> Result<ExitCode> {
        progress::log(self.verbose);
        match &self.command {
            Command::Experiment(args) => experiment::run(args, out),
            Command::List(args) => list::run(args, out),
            Command::Test(TestArgs {}) => test::run(out),
        }
    }
}

/// Reads the arguments of the process and runs the command.
pub fn main() -> ExitCode {
    match Cli::parse().run(&mut io::stdout().lock()) {
        Ok(code) => code,
        // Whoever read the output has seen enough.
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// An error of writing to the terminal.
fn terminal(source: io::Error) -> Error {
    Error::Io { path: "standard output".into(), source }
}
