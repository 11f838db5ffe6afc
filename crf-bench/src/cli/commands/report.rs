use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::experiment::RESULTS;
use crate::cli::terminal;
use crate::error::{Error, Result};
use crate::report::site;

/// Builds a site for the browser from all finished runs: claims by paper, a page for each run, times, and peers.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  cargo xtask reproduce --quick && cargo xtask report

The site needs no network and no server: open `results/report/index.html`. Benchmarks are those in `target/criterion`; \
comparisons are JSON files of `cargo xtask compare --json` in `results/peers`.")]
pub struct ReportArgs {
    /// The directory of all runs.
    #[arg(long, value_name = "DIR", default_value = RESULTS)]
    results: PathBuf,
    /// The directory of criterion's benchmarks; that beside this program unless given.
    #[arg(long, value_name = "DIR")]
    criterion: Option<PathBuf>,
    /// The directory of the site; `report` in that of the runs unless given.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Writes the site.
pub(crate) fn run(args: &ReportArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let program = std::env::current_exe().map_err(Error::io("this program"))?;
    // The program is `target/release/xtask`.
    let target = program.ancestors().nth(2).unwrap_or(Path::new("target"));
    let criterion = args.criterion.clone().unwrap_or_else(|| target.join("criterion"));
    let place = args.out.clone().unwrap_or_else(|| args.results.join("report"));
    let runs = site(&args.results, &criterion, &place)?;
    if runs == 0 {
        let message = "no finished runs here: `cargo xtask experiment` or `cargo xtask reproduce` makes them";
        return Err(Error::config(args.results.display(), message));
    }
    let of_them = if runs == 1 { "run" } else { "runs" };
    writeln!(out, "{runs} {of_them} in {}", place.join("index.html").display()).map_err(terminal)?;
    Ok(ExitCode::SUCCESS)
}
