//! The command line `crf`. Behind the feature `terminal`.
//!
//! Start with [`main`], which parses the arguments ([`Cli`]) and runs a [`Command`]. Each command
//! is one file in `commands`: its arguments, its help and its run. `options` holds the options that
//! several commands share, `output` the tables and summaries that several print.
//!
//! A program with plugins of its own calls [`main`] and offers them beside those of the toolkit.
//! The command line computes nothing itself: it may use every other room of the crate, and none of
//! them uses it.

mod commands;
mod options;
mod output;

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use crf_core::printable;

use self::commands::convert::ConvertArgs;
use self::commands::data::DataArgs;
use self::commands::eval::EvalArgs;
use self::commands::experiments::check::CheckArgs;
use self::commands::experiments::experiment::ExperimentArgs;
use self::commands::experiments::merge::MergeArgs;
use self::commands::experiments::report::ReportArgs;
use self::commands::experiments::reproduce::ReproduceArgs;
use self::commands::experiments::schema::SchemaArgs;
use self::commands::explain::ExplainArgs;
use self::commands::infer::InferArgs;
use self::commands::inspect::InspectArgs;
use self::commands::list::ListArgs;
use self::commands::show::ShowArgs;
use self::commands::tag::TagArgs;
use self::commands::train::TrainArgs;
pub use self::output::table::markdown;
use crate::error::{Error, Result};
use crate::support::atomic_file::AtomicFile;
pub use crate::support::progress;

/// Conditional random fields: train them on labelled sequences and graphs, label new data, compare
/// methods.
#[derive(Debug, Parser)]
#[command(name = "crf", version)]
#[command(after_help = "Examples:
  crf train --format crfsuite --data train.crfsuite --model chunks.crf --set learner.l2=2.0
  crf eval --model chunks.crf --data test.crfsuite
  crf tag --model chunks.crf < test.crfsuite
  crf inspect --model chunks.crf --top 20
  crf convert --from crfsuite --to jsonl train.crfsuite train.jsonl
  crf infer --with junction-tree graphs.jsonl
  crf experiment experiments/quickstart.toml

Exit code: 0 on success, 2 for wrong options or a wrong config, 1 if a command fails.")]
pub struct Cli {
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(subcommand)]
    command: Command,
}

/// The verbosity of the log.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Verbosity {
    /// Logs each step; twice (-vv): each iteration of training. RUST_LOG selects more finely.
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
}

impl Verbosity {
    /// Sends logs of this verbosity to standard error.
    pub fn log(self) {
        progress::log(self.verbose);
    }
}

/// The commands of `crf`.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[allow(missing_docs, reason = "the arguments are documented")]
    Train(Box<TrainArgs>),
    #[allow(missing_docs, reason = "the arguments are documented")]
    Tag(TagArgs),
    #[allow(missing_docs, reason = "the arguments are documented")]
    Eval(EvalArgs),
    #[allow(missing_docs, reason = "the arguments are documented")]
    Inspect(InspectArgs),
    #[allow(missing_docs, reason = "the arguments are documented")]
    Convert(ConvertArgs),
    #[allow(missing_docs, reason = "the arguments are documented")]
    Infer(InferArgs),
    #[allow(missing_docs, reason = "the arguments are documented")]
    Experiment(ExperimentArgs),
    #[allow(missing_docs, reason = "the arguments are documented")]
    Report(ReportArgs),
    #[allow(missing_docs, reason = "the arguments are documented")]
    Reproduce(ReproduceArgs),
    #[allow(missing_docs, reason = "the arguments are documented")]
    Merge(MergeArgs),
    #[allow(missing_docs, reason = "the arguments are documented")]
    List(ListArgs),
    #[allow(missing_docs, reason = "the arguments are documented")]
    Explain(ExplainArgs),
    #[allow(missing_docs, reason = "the arguments are documented")]
    Schema(SchemaArgs),
    #[allow(missing_docs, reason = "the arguments are documented")]
    Check(CheckArgs),
    #[allow(missing_docs, reason = "the arguments are documented")]
    Data(DataArgs),
    #[allow(missing_docs, reason = "the arguments are documented")]
    Show(ShowArgs),
}

impl Command {
    /// Runs the command and writes its answer to `out`.
    pub fn run(&self, out: &mut dyn Write) -> Result<ExitCode> {
        match self {
            Command::Train(args) => commands::train::run(args, out),
            Command::Tag(args) => commands::tag::run(args, out),
            Command::Eval(args) => commands::eval::run(args, out),
            Command::Inspect(args) => commands::inspect::run(args, out),
            Command::Convert(args) => commands::convert::run(args, out),
            Command::Infer(args) => commands::infer::run(args, out),
            Command::Experiment(args) => commands::experiments::experiment::run(args, out),
            Command::Report(args) => commands::experiments::report::run(args, out),
            Command::Reproduce(args) => commands::experiments::reproduce::run(args, out),
            Command::Merge(args) => commands::experiments::merge::run(args, out),
            Command::List(args) => commands::list::run(args, out),
            Command::Explain(args) => commands::explain::run(args, out),
            Command::Schema(SchemaArgs {}) => commands::experiments::schema::run(out),
            Command::Check(args) => commands::experiments::check::run(args, out),
            Command::Data(args) => commands::data::run(args, out),
            Command::Show(args) => commands::show::run(args, out),
        }
    }
}

impl Cli {
    /// Runs the command and writes its answer to `out`.
    pub fn run(&self, out: &mut dyn Write) -> Result<ExitCode> {
        self.verbosity.log();
        self.command.run(out)
    }
}

/// Reads the arguments of the program and runs the command.
pub fn main() -> ExitCode {
    parsed::<Cli>().map_or_else(|code| code, |cli| exit_code(cli.run(&mut io::stdout().lock())))
}

/// The arguments of the program; otherwise the exit code after help, a version or an error was
/// printed.
pub fn parsed<C: Parser>() -> Result<C, ExitCode> {
    C::try_parse().map_err(|answer| {
        let printed = answer.print().and_then(|()| io::stdout().flush());
        // Help that cannot be printed is a failure like any other.
        let code = u8::try_from(answer.exit_code()).unwrap_or(2);
        exit_code(printed.map_err(terminal).map(|()| ExitCode::from(code)))
    })
}

/// The exit code of a command; an error is printed to standard error after `error: `.
pub fn exit_code(outcome: Result<ExitCode>) -> ExitCode {
    match outcome {
        Ok(code) => code,
        // The reader of our output has gone away, as `head` does: no failure.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// The largest number of threads that can be requested.
const MAX_THREADS: usize = 1024;

/// Reads a number of threads from the command line.
pub fn thread_count(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|number: &NonZeroUsize| number.get() <= MAX_THREADS);
    number.ok_or_else(|| format!("expected a whole number from 1 to {MAX_THREADS}"))
}

/// The requested number of threads, or the number of cores.
pub fn threads(requested: Option<NonZeroUsize>) -> NonZeroUsize {
    requested.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// Writes a file of text: it appears complete or not at all.
pub fn write_file(path: &Path, text: &str) -> Result<()> {
    AtomicFile::regular(path)?.write(|file| file.write_all(text.as_bytes()).map_err(Error::io(path)))
}

/// An error while writing to standard output.
pub fn terminal(source: io::Error) -> Error {
    Error::Io { path: "standard output".into(), source }
}

/// Prints a value as JSON on one line.
pub fn print_json(value: &impl serde::Serialize, out: &mut dyn Write) -> Result<()> {
    let text = serde_json::to_string(value).map_err(Error::format("JSON"))?;
    writeln!(out, "{text}").map_err(terminal)
}

/// Prints names and values in two columns.
fn print_facts(facts: &[(&str, String)], out: &mut dyn Write) -> Result<()> {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let print = |(name, value): &(&str, String)| writeln!(out, "{name:<width$}  {}", printable(value));
    facts.iter().try_for_each(print).map_err(terminal)
}
