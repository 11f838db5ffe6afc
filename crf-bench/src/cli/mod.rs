//! The command line: what `crf` offers to users, and what `cargo xtask` offers beyond that.

mod commands;
mod compare;
mod growth;
mod new;
mod options;
mod output;
mod test;

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

pub use self::commands::check::CheckArgs;
pub use self::commands::convert::ConvertArgs;
pub use self::commands::data::DataArgs;
pub use self::commands::eval::EvalArgs;
pub use self::commands::explain::ExplainArgs;
pub use self::commands::infer::InferArgs;
pub use self::commands::inspect::InspectArgs;
pub use self::commands::list::ListArgs;
pub use self::commands::merge::MergeArgs;
pub use self::commands::report::ReportArgs;
pub use self::commands::reproduce::ReproduceArgs;
pub use self::commands::show::ShowArgs;
pub use self::commands::tag::TagArgs;
pub use self::commands::train::TrainArgs;
pub use self::compare::CompareArgs;
pub use self::growth::GrowthArgs;
pub use self::new::NewArgs;
pub use self::options::variant::VariantArgs;
use crate::error::{Error, Result};
use crate::experiment::shard::Shard;
use crate::support::progress;

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
    Merge(MergeArgs),
    Reproduce(ReproduceArgs),
    Report(ReportArgs),
    Data(DataArgs),
    Test(TestArgs),
    Compare(CompareArgs),
    Growth(GrowthArgs),
    New(NewArgs),
    #[command(flatten)]
    User(UserCommand),
}

/// Trains conditional random fields on labelled sequences, and labels, evaluates and inspects with them.
#[derive(Debug, Parser)]
#[command(name = "crf", version)]
#[command(after_help = "Examples:
  crf train --format crfsuite --data train.crfsuite --model chunks.crf --set learner.l2=2.0
  crf eval --model chunks.crf --data test.crfsuite
  crf tag --model chunks.crf < test.crfsuite
  crf inspect --model chunks.crf --top 20
  crf convert --from crfsuite --to jsonl train.crfsuite train.jsonl
  crf infer --with junction-tree graphs.jsonl

Exit code: 0 when all is well, 2 for wrong options or a wrong config, 1 when something fails.")]
pub struct UserCli {
    /// Logs what is done; twice: every iteration of training. RUST_LOG says more precisely what to log.
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    verbose: u8,
    #[command(subcommand)]
    command: UserCommand,
}

#[derive(Debug, Subcommand)]
enum UserCommand {
    Train(Box<TrainArgs>),
    Tag(TagArgs),
    Eval(EvalArgs),
    Inspect(InspectArgs),
    Convert(ConvertArgs),
    Infer(InferArgs),
    Show(ShowArgs),
    List(ListArgs),
    Explain(ExplainArgs),
    Schema(SchemaArgs),
    Check(CheckArgs),
}

impl UserCommand {
    fn run(&self, out: &mut dyn Write) -> Result<ExitCode> {
        match self {
            UserCommand::Train(args) => commands::train::run(args, out),
            UserCommand::Tag(args) => commands::tag::run(args, out),
            UserCommand::Eval(args) => commands::eval::run(args, out),
            UserCommand::Inspect(args) => commands::inspect::run(args, out),
            UserCommand::Convert(args) => commands::convert::run(args, out),
            UserCommand::Infer(args) => commands::infer::run(args, out),
            UserCommand::Show(args) => commands::show::run(args, out),
            UserCommand::List(args) => commands::list::run(args, out),
            UserCommand::Explain(args) => commands::explain::run(args, out),
            UserCommand::Schema(SchemaArgs {}) => schema(out),
            UserCommand::Check(args) => commands::check::run(args, out),
        }
    }
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
  cargo xtask experiment experiments/vail/fig-2-2.toml --shard 1/2    # a part; see `merge`

Finished cells are kept: after Ctrl-C, or a crash, the same command goes on where it was, and after a change of the \
file it runs only what the change concerns. A new build of the program runs everything anew.

Exit code: 0 when all is well, 2 for a wrong config, 1 when a run or, with --check, a claim fails.")]
pub struct ExperimentArgs {
    /// Experiment files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    variant: VariantArgs,
    /// Threads to use; all cores unless given. Results do not depend on it.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Directory of the results; `results/<name of the file>` unless given.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Runs a part of the cells, for `merge` to join: `2/3` is the second of three.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Runs all cells anew, also those that are finished.
    #[arg(long)]
    fresh: bool,
    /// Fails when a claim fails.
    #[arg(long)]
    check: bool,
}

/// Prints the JSON Schema of experiment files, by which editors complete and check them.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  crf schema > experiment.schema.json

A file says where its schema is in its first line, for editors with Taplo: `#:schema ./experiment.schema.json`.")]
pub struct SchemaArgs {}

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
            Command::Experiment(args) => commands::experiment::run(args, out),
            Command::Merge(args) => commands::merge::run(args, out),
            Command::Reproduce(args) => commands::reproduce::run(args, out),
            Command::Report(args) => commands::report::run(args, out),
            Command::Data(args) => commands::data::run(args, out),
            Command::Test(TestArgs {}) => test::run(out),
            Command::Compare(args) => compare::run(args, out),
            Command::Growth(args) => growth::run(args, out),
            Command::New(args) => new::run(args, out),
            Command::User(command) => command.run(out),
        }
    }
}

impl UserCli {
    /// Runs the command; what it has to say goes to `out`.
    pub fn run(&self, out: &mut dyn Write) -> Result<ExitCode> {
        progress::log(self.verbose);
        self.command.run(out)
    }
}

/// Reads the arguments of `cargo xtask` and runs the command.
pub fn main() -> ExitCode {
    exit_code(Cli::parse().run(&mut io::stdout().lock()))
}

/// Reads the arguments of `crf` and runs the command.
pub fn user_main() -> ExitCode {
    exit_code(UserCli::parse().run(&mut io::stdout().lock()))
}

fn exit_code(outcome: Result<ExitCode>) -> ExitCode {
    match outcome {
        Ok(code) => code,
        // Whoever read the output has seen enough.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(error.exit_code())
        }
    }
}

/// As many threads as were asked for, or as there are cores.
fn threads(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    asked.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

fn schema(out: &mut dyn Write) -> Result<ExitCode> {
    let text = serde_json::to_string_pretty(&crate::config::schema()).map_err(Error::format("schema"))?;
    writeln!(out, "{text}").map_err(terminal)?;
    Ok(ExitCode::SUCCESS)
}

/// An error of writing to the terminal.
fn terminal(source: io::Error) -> Error {
    Error::Io { path: "standard output".into(), source }
}

/// Prints a value as JSON on one line.
fn print_json(value: &impl serde::Serialize, out: &mut dyn Write) -> Result<()> {
    let text = serde_json::to_string(value).map_err(Error::format("JSON"))?;
    writeln!(out, "{text}").map_err(terminal)
}

/// Prints names and values in two columns.
fn print_facts(facts: &[(&str, String)], out: &mut dyn Write) -> Result<()> {
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts.iter().try_for_each(|(name, value)| writeln!(out, "{name:<width$}  {value}")).map_err(terminal)
}
