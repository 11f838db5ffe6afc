use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;

use super::experiment::{RESULTS, report, run_name, verdict, work};
use crate::cli::{terminal, threads};
use crate::config::{Plan, experiment_files, load};
use crate::error::{Error, Result};
use crate::experiment::cell_digest;
use crate::experiment::cost::{Cost, duration};
use crate::experiment::run_directory::RunDirectory;
use crate::experiment::shard::Shard;
use crate::support::progress;

/// Runs all experiments, cheapest first, and says how long the rest will take; what is finished is not run again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask reproduce --quick     # every experiment in small: minutes
  cargo xtask reproduce             # all of them in full; Ctrl-C and the same command go on where it was
  cargo xtask report                # and then look at results/report/index.html

Experiments whose data are not there are named with the command that gets them, and left out.

Exit code: 0 when all is well, 2 for a wrong config, 1 when a run or, with --check, a claim fails.")]
pub struct ReproduceArgs {
    /// The directory of experiment files.
    #[arg(value_name = "DIR", default_value = "experiments")]
    experiments: PathBuf,
    /// Takes each file's `quick` table.
    #[arg(long)]
    quick: bool,
    /// Threads to use; all cores unless given. Results do not depend on it.
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// The directory of all runs.
    #[arg(long, value_name = "DIR", default_value = RESULTS)]
    out: PathBuf,
    /// Fails when a claim fails.
    #[arg(long)]
    check: bool,
}

/// An experiment that can be run, where it will be, and what it costs.
struct Task {
    plan: Plan,
    place: PathBuf,
    seconds: f64,
}

/// Runs all experiments of a directory.
pub(crate) fn run(args: &ReproduceArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let (code, threads) = (cell_digest::of_code()?, threads(args.threads));
    let (mut tasks, missing) = tasks(args)?;
    if tasks.is_empty() && missing.is_empty() {
        return Err(Error::config(args.experiments.display(), "no experiment files here"));
    }
    tasks.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let (mut failed, mut clock) = (0, Pace { began: Instant::now(), done: 0.0 });
    for i in 0..tasks.len() {
        let Task { plan, place, .. } = &tasks[i];
        let mut directory = RunDirectory::open(place, plan, &code)?;
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
        writeln!(out, "left out: {why}").map_err(terminal)?;
    }
    verdict(args.check, failed, out)
}

/// All experiments of the directory, and why others are none: their data cannot be read.
fn tasks(args: &ReproduceArgs) -> Result<(Vec<Task>, Vec<String>)> {
    let (mut tasks, mut missing) = (Vec::new(), Vec::new());
    let files = experiment_files(&args.experiments);
    let bar = progress::bar("reading all experiments", files.len());
    for file in files {
        let plan = load(&file, args.quick, &[])?;
        let place = args.out.join(run_name(&file, args.quick));
        match Cost::of(&plan) {
            Ok(cost) => tasks.push(Task { plan, place, seconds: cost.seconds }),
            Err(error @ Error::Cell { .. }) => missing.push(format!("{}: {error}", file.display())),
            Err(error) => return Err(error),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok((tasks, missing))
}

/// How fast the work goes, against what was thought.
struct Pace {
    began: Instant,
    /// Seconds of one core that the work so far was thought to take.
    done: f64,
}

impl Pace {
    /// How long the rest will take, if it goes on as it did.
    fn left(&self, rest: f64, threads: NonZeroUsize) -> String {
        let usual = 1.0 / threads.get() as f64;
        let pace = if self.done > 1.0 { self.began.elapsed().as_secs_f64() / self.done } else { usual };
        duration(rest * pace)
    }
}
