//! The commands of `crf`, and the chores of the workspace; `cargo xtask --help` lists them.
//!
//! One chore is one file: tests and rules of the workspace, a new plugin, benchmarks. The commands
//! of users forward to `crf_bench::cli`.
#![forbid(unsafe_code)]

mod compare;
mod fuzz;
mod growth;
mod house;
mod new;
mod test;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use crf_bench::Result;
use crf_bench::cli::{Command, Verbosity, exit_code, parsed};

/// The commands of `crf` from the sources, and the chores of the workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", version)]
struct Cli {
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    Test(test::TestArgs),
    Fuzz(fuzz::FuzzArgs),
    New(new::NewArgs),
    Compare(compare::CompareArgs),
    Growth(growth::GrowthArgs),
    #[command(flatten)]
    User(Command),
}

impl Cli {
    fn run(&self, out: &mut dyn Write) -> Result<ExitCode> {
        self.verbosity.log();
        match &self.chore {
            Chore::Test(args) => test::run(args, out),
            Chore::Fuzz(args) => fuzz::run(args, out),
            Chore::New(args) => new::run(args, out),
            Chore::Compare(args) => compare::run(args, out),
            Chore::Growth(args) => growth::run(args, out),
            Chore::User(command) => command.run(out),
        }
    }
}

fn main() -> ExitCode {
    parsed::<Cli>().map_or_else(|code| code, |cli| exit_code(cli.run(&mut io::stdout().lock())))
}
