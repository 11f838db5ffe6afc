use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;

use super::experiment::{RESULTS, report, run_name, verdict, work};
use crate::cli::{terminal, thread_count, threads};
use crate::config::{Plan, experiment_files, load};
use crate::error::{Error, Result};
use crate::experiment::cell_digest;
use crate::experiment::cost::{Cost, duration};
use crate::experiment::run_directory::{RunDirectory, require_apart};
use crate::experiment::shard::Shard;
use crate::support::progress;
use crate::support::text::shown;

/// Runs all experiments, cheapest first, with an estimate of the time left; finished cells are
/// kept.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask reproduce --quick     # every experiment in small: minutes
  cargo xtask reproduce             # all of them in full; after Ctrl-C the same command resumes
  cargo xtask report                # then open results/report/index.html

Experiments without their data are omitted and listed at the end, with the command that downloads the data.

Exit code: 0 on success, 2 for a wrong config, 1 if a run fails or, with --check, a claim.")]
pub struct ReproduceArgs {
    /// The directory of experiment files.
    #[arg(value_name = "DIR", default_value = "experiments")]
    experiments: PathBuf,
    /// Runs the quick variant of each file, in its table `quick`.
    #[arg(long)]
    quick: bool,
    /// Number of threads; all cores if omitted. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = thread_count)]
    threads: Option<NonZeroUsize>,
    /// The directory of all runs.
    #[arg(long, value_name = "DIR", default_value = RESULTS)]
    out: PathBuf,
    /// Exits with 1 if a claim fails.
    #[arg(long)]
    check: bool,
}

/// An experiment that can be run, its directory and its estimated cost.
struct Task {
    plan: Plan,
    path: PathBuf,
    seconds: f64,
}

/// Runs all experiments of a directory.
pub(crate) fn run(args: &ReproduceArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let code = cell_digest::program_digest()?;
    let threads = threads(args.threads);
    let (mut tasks, missing) = tasks(args)?;
    if tasks.is_empty() && missing.is_empty() {
        return Err(Error::config(args.experiments.display(), "no experiment files here"));
    }
    tasks.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let mut failed = 0;
    let mut clock = Pace { began: Instant::now(), done: 0.0 };
    for i in 0..tasks.len() {
        let Task { plan, path, .. } = &tasks[i];
        let mut directory = RunDirectory::open(path, plan, &code)?;
        let share = directory.n_finished() as f64 / directory.n_cells() as f64;
        clock.done += (1.0 - share) * tasks[i].seconds;
        work(plan, &mut directory, Shard::WHOLE, threads, out)?;
        failed += report(plan, &directory, out)?;
        let rest: f64 = tasks[i + 1..].iter().map(|task| task.seconds).sum();
        let left = clock.left(rest, threads);
        writeln!(out, "{} of {} experiments are done, about {left} left\n", i + 1, tasks.len())
            .map_err(terminal)?;
    }
    for why in &missing {
        writeln!(out, "omitted: {why}").map_err(terminal)?;
    }
    verdict(args.check, failed, out)
}

/// All experiments of the directory whose data can be read, and the errors of the others.
fn tasks(args: &ReproduceArgs) -> Result<(Vec<Task>, Vec<String>)> {
    let mut tasks = Vec::new();
    let mut missing = Vec::new();
    let files = experiment_files(&args.experiments);
    let bar = progress::bar("reading all experiments", files.len());
    for file in files {
        let plan = load(&file, args.quick, &[])?;
        let path = args.out.join(run_name(&file, args.quick));
        require_apart(&path, &plan, &[("the experiment file", &file)])?;
        match Cost::estimate(&plan) {
            Ok(cost) => tasks.push(Task { plan, path, seconds: cost.seconds }),
            Err(error @ Error::Cell { .. }) => missing.push(format!("{}: {error}", shown(&file))),
            Err(error) => return Err(error),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok((tasks, missing))
}

/// The pace of the work against its estimate.
struct Pace {
    began: Instant,
    /// Estimated seconds of one core for the work so far.
    done: f64,
}

impl Pace {
    /// The time for the rest at the pace so far.
    fn left(&self, rest: f64, threads: NonZeroUsize) -> String {
        let usual = 1.0 / threads.get() as f64;
        let pace = if self.done > 1.0 { self.began.elapsed().as_secs_f64() / self.done } else { usual };
        duration(rest * pace)
    }
}
