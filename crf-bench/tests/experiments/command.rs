//! Runs the command line in the process of the test.

use clap::Parser as _;
use crf_bench::cli::Cli;

/// The output of `crf`, or its error.
pub(crate) fn crf(args: &[&str]) -> Result<String, String> {
    let cli = Cli::try_parse_from(["crf"].iter().chain(args)).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    cli.run(&mut out).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).expect("UTF-8"))
}
