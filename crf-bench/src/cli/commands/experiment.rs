use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::claims::claim::Outcome;
use crate::cli::options::variant::VariantArgs;
use crate::cli::output::report::print;
use crate::cli::{terminal, threads};
use crate::config::Plan;
use crate::error::Result;
use crate::experiment::cell_digest;
use crate::experiment::run_directory::RunDirectory;
use crate::experiment::shard::Shard;
use crate::report::Report;
use crate::support::progress;

/// Runs experiment files and reports their results and claims.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  crf experiment experiments/quickstart.toml
  crf experiment experiments/vail/*.toml --quick --check
  crf experiment experiments/vail/fig-2-3.toml --threads 4 --out /tmp/fig-2-3
  crf experiment experiments/quickstart.toml --set trials=20 --set seed=2
  crf experiment experiments/quickstart.toml --set methods.CRF.learner.l2=1.0
  crf experiment experiments/quickstart.toml --set 'sweep.\"dataset.copies\"=[1, 2]'
  crf experiment experiments/vail/fig-2-2.toml --shard 1/2    # a part; see `merge`

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

/// Runs all files, after all of them were read and checked.
pub(crate) fn run(args: &ExperimentArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let plans = args.files.iter().map(|file| Ok((file, args.variant.load(file)?)));
    let plans = plans.collect::<Result<Vec<_>>>()?;
    let (code, threads) = (cell_digest::of_code()?, threads(args.threads));
    let mut failed = 0;
    for (i, (file, plan)) in plans.iter().enumerate() {
        if i > 0 {
            writeln!(out).map_err(terminal)?;
        }
        let mut directory = RunDirectory::open(&place(args, file), plan, &code)?;
        if args.fresh {
            directory.clear()?;
        }
        work(plan, &mut directory, args.shard.unwrap_or(Shard::WHOLE), threads, out)?;
        failed += match args.shard {
            None => report(plan, &directory, out)?,
            Some(_) => 0,
        };
    }
    verdict(args.check, failed, out)
}

/// Runs what a directory lacks, and says what it reuses.
pub(crate) fn work(
    plan: &Plan,
    directory: &mut RunDirectory,
    shard: Shard,
    threads: NonZeroUsize,
    out: &mut dyn Write,
) -> Result<()> {
    let place = directory.path.display().to_string();
    if directory.other_code {
        writeln!(
            out,
            "the cells in {place} are of another version of the program and run anew; journal.old keeps them"
        )
        .map_err(terminal)?;
    }
    let (found, all) = (directory.n_finished(), directory.n_cells());
    if found > 0 {
        writeln!(out, "reuses {found} of {all} cells in {place}").map_err(terminal)?;
    }
    let jobs = directory.open_jobs(plan, shard);
    let bar = progress::bar(&plan.experiment.title, jobs.len());
    let outcome = directory.run(plan, &jobs, threads, &|| bar.inc(1));
    bar.finish_and_clear();
    outcome?;
    if shard != Shard::WHOLE {
        let finished = directory.n_finished();
        writeln!(out, "part {shard}: {finished} of {all} cells are in {place}").map_err(terminal)?;
    }
    Ok(())
}

/// Writes and prints the report of a finished run; the number of claims that fail.
pub(crate) fn report(plan: &Plan, directory: &RunDirectory, out: &mut dyn Write) -> Result<usize> {
    let results = directory.results(plan);
    let report = Report::new(plan, &results);
    report.write(directory)?;
    print(&report, &directory.path, out).map_err(terminal)?;
    Ok(report.verdicts.iter().filter(|verdict| verdict.outcome == Outcome::Fails).count())
}

/// The exit code when so many claims failed.
pub(crate) fn verdict(check: bool, failed: usize, out: &mut dyn Write) -> Result<ExitCode> {
    if !check || failed == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "claims that fail: {failed}").map_err(terminal)?;
    Ok(ExitCode::from(1))
}

/// Where the results of a file go.
fn place(args: &ExperimentArgs, file: &Path) -> PathBuf {
    let mut name = run_name(file, args.variant.quick);
    if let Some(shard) = args.shard {
        name.as_mut_os_string().push(format!(".{shard}"));
    }
    match &args.out {
        Some(out) if args.files.len() == 1 => out.clone(),
        Some(out) => out.join(name),
        None => Path::new(RESULTS).join(name),
    }
}

/// Where runs are, unless something else is asked for.
pub(crate) const RESULTS: &str = "results";

/// What the run of an experiment file is called: its path below the last `experiments` in it, without `.toml`.
pub(crate) fn run_name(file: &Path, quick: bool) -> PathBuf {
    let steps: Vec<Component<'_>> = file.components().collect();
    let root = steps.iter().rposition(|step| step.as_os_str() == "experiments");
    let below = match root {
        Some(root) if root + 1 < steps.len() => steps[root + 1..].iter().collect(),
        _ => PathBuf::from(file.file_name().unwrap_or_default()),
    };
    let mut name = below.with_extension("");
    name.as_mut_os_string().push(if quick { "-quick" } else { "" });
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_named_after_the_experiment() {
        assert_eq!(run_name(Path::new("/w/experiments/vail/fig-2-3.toml"), false), Path::new("vail/fig-2-3"));
        assert_eq!(run_name(Path::new("elsewhere/mine.toml"), true), Path::new("mine-quick"));
    }
}
