use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::experiment::RESULTS;
use crate::cli::terminal;
use crate::error::{Error, Result};
use crate::report::{Site, site};
use crate::support::text::{plural, shown};

/// Builds a web site of all finished runs: claims by paper, a page per run, times, comparisons.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  cargo xtask reproduce --quick && cargo xtask report

The site needs neither network nor server: open `results/report/index.html`. A run that cannot be read is \
named, the others are shown, and the exit code is 1. It shows the benchmarks in \
`target/criterion` and the comparisons in `results/peers`, which are JSON files of `cargo xtask compare --json`.")]
pub struct ReportArgs {
    /// The directory of all runs.
    #[arg(long, value_name = "DIR", default_value = RESULTS)]
    results: PathBuf,
    /// The directory of criterion's benchmarks; `criterion` in the target directory of this program
    /// if omitted.
    #[arg(long, value_name = "DIR")]
    criterion: Option<PathBuf>,
    /// The directory of the site; `report` in the directory of all runs if omitted.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Writes the site.
pub(crate) fn run(args: &ReportArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let program = std::env::current_exe().map_err(Error::io("this program"))?;
    // The program is `target/release/xtask`.
    let target = program.ancestors().nth(2).unwrap_or(Path::new("target"));
    let criterion = args.criterion.clone().unwrap_or_else(|| target.join("criterion"));
    let directory = args.out.clone().unwrap_or_else(|| args.results.join("report"));
    let Site { n_runs, omitted } = site(&args.results, &criterion, &directory)?;
    if n_runs == 0 {
        let message = "no finished runs here: `cargo xtask experiment` or `cargo xtask reproduce` makes them";
        let none = Error::config(args.results.display(), message);
        return Err(omitted.into_iter().next().unwrap_or(none));
    }
    writeln!(out, "{} in {}", plural(n_runs, "run"), shown(&directory.join("index.html")))
        .map_err(terminal)?;
    for error in &omitted {
        writeln!(out, "omitted: {error}").map_err(terminal)?;
    }
    Ok(if omitted.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
