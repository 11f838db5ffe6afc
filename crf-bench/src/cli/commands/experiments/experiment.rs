use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::claims::claim::Outcome;
use crate::cli::options::variant::VariantArgs;
use crate::cli::output::report::print;
use crate::cli::{terminal, thread_count, threads};
use crate::config::Plan;
use crate::error::{Error, Result};
use crate::experiment::cell_digest;
use crate::experiment::run_directory::{RunDirectory, require_apart};
use crate::experiment::shard::Shard;
use crate::report::Report;
use crate::support::progress;
use crate::support::text::shown;

/// Runs experiment files and reports results and claims.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  crf experiment experiments/quickstart.toml
  crf experiment experiments/vail/*.toml --quick --check
  crf experiment experiments/vail/fig-2-3.toml --threads 4 --out /tmp/fig-2-3
  crf experiment experiments/quickstart.toml --set trials=20 --set seed=2
  crf experiment experiments/quickstart.toml --set methods.CRF.learner.l2=1.0
  crf experiment experiments/quickstart.toml --set 'sweep.\"dataset.copies\"=[1, 2]'
  crf experiment experiments/vail/fig-2-2.toml --shard 1/2    # a part; see `merge`

A cell is one method at one point of the sweep in one trial. Finished cells are kept: after Ctrl-C or a crash the same \
command resumes, and after a change of the file only the cells that it concerns run again. A new build of the program \
runs everything again.

Exit code: 0 on success, 2 for a wrong config, 1 if a run fails or, with --check, a claim.")]
pub struct ExperimentArgs {
    /// Experiment files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    variant: VariantArgs,
    /// Number of threads; all cores if omitted. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = thread_count)]
    threads: Option<NonZeroUsize>,
    /// The directory of the results; `results/<name of the file>` if omitted.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Runs one part of the cells, which `merge` joins: `2/3` is the second of three parts.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Runs all cells again, also finished ones.
    #[arg(long)]
    fresh: bool,
    /// Exits with 1 if a claim fails.
    #[arg(long)]
    check: bool,
}

/// Reads and checks all files, then runs them.
pub(crate) fn run(args: &ExperimentArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let plans = args.files.iter().map(|file| Ok((file, args.variant.load(file)?)));
    let plans = plans.collect::<Result<Vec<_>>>()?;
    for (i, (file, plan)) in plans.iter().enumerate() {
        let path = run_path(args, file);
        require_apart(&path, plan, &[("the experiment file", file)])?;
        if let Some((other, _)) = plans[..i].iter().find(|(other, _)| run_path(args, other) == path) {
            let message = format!("{} would have the same directory: {}", other.display(), path.display());
            return Err(Error::config(file.display(), message));
        }
    }
    let code = cell_digest::program_digest()?;
    let threads = threads(args.threads);
    let mut failed = 0;
    for (i, (file, plan)) in plans.iter().enumerate() {
        if i > 0 {
            writeln!(out).map_err(terminal)?;
        }
        let mut directory = RunDirectory::open(&run_path(args, file), plan, &code)?;
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

/// Runs the unfinished cells of a directory, and prints how many it reuses.
pub(crate) fn work(
    plan: &Plan,
    directory: &mut RunDirectory,
    shard: Shard,
    threads: NonZeroUsize,
    out: &mut dyn Write,
) -> Result<()> {
    let path = shown(&directory.path);
    if let Some(aside) = &directory.aside {
        let aside = shown(aside);
        writeln!(
            out,
            "the cells in {path} are of another build of the program and run again; {aside} keeps them"
        )
        .map_err(terminal)?;
    }
    let (found, all) = (directory.n_finished(), directory.n_cells());
    if found > 0 {
        writeln!(out, "reuses {found} of {all} cells in {path}").map_err(terminal)?;
    }
    let jobs = directory.open_jobs(plan, shard);
    let bar = progress::bar(&plan.experiment.title, jobs.len());
    let outcome = directory.run(plan, &jobs, threads, &|| bar.inc(1));
    bar.finish_and_clear();
    outcome?;
    if shard != Shard::WHOLE {
        let finished = directory.n_finished();
        writeln!(out, "part {shard}: {finished} of {all} cells are in {path}").map_err(terminal)?;
    }
    Ok(())
}

/// Writes and prints the report of a finished run; returns the number of claims that fail.
pub(crate) fn report(plan: &Plan, directory: &RunDirectory, out: &mut dyn Write) -> Result<usize> {
    let results = directory.results(plan);
    let report = Report::new(plan, &results);
    report.write(directory)?;
    directory.forget_others()?;
    print(&report, &directory.path, out).map_err(terminal)?;
    Ok(report.verdicts.iter().filter(|verdict| verdict.outcome == Outcome::Fails).count())
}

/// The exit code after `failed` claims have failed.
pub(crate) fn verdict(check: bool, failed: usize, out: &mut dyn Write) -> Result<ExitCode> {
    if !check || failed == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "claims that fail: {failed}").map_err(terminal)?;
    Ok(ExitCode::from(1))
}

/// The directory for the results of a file.
fn run_path(args: &ExperimentArgs, file: &Path) -> PathBuf {
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

/// The default directory of all runs.
pub(crate) const RESULTS: &str = "results";

/// The name of an experiment file's run: the path below its last `experiments`, without `.toml`.
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
