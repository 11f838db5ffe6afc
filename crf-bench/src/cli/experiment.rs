use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use super::{ExperimentArgs, terminal, threads};
use crate::claim::Outcome;
use crate::config::{Setting, load};
use crate::error::Result;
use crate::progress;
use crate::report::{Directory, Report, print};
use crate::runner::{n_jobs, run as run_plan};

/// Runs all files, after all of them were read and checked.
pub(super) fn run(args: &ExperimentArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let settings = args.set.iter().map(|text| Setting::parse(text)).collect::<Result<Vec<_>>>()?;
    let mut plans = Vec::new();
    for file in &args.files {
        let plan = load(file, args.quick, &settings)?;
        plans.push((plan, Directory::new(&directory(args, file))?));
    }
    let threads = threads(args.threads);
    let mut failed = 0;
    for (i, (plan, directory)) in plans.into_iter().enumerate() {
        let bar = progress::bar(&plan.experiment.title, n_jobs(&plan));
        let results = run_plan(&plan, threads, &|| bar.inc(1));
        bar.finish_and_clear();
        let results = results?;
        let report = Report::new(&plan, &results);
        report.write(&directory)?;
        let place = directory.finish()?;
        failed += report.verdicts.iter().filter(|verdict| verdict.outcome == Outcome::Fails).count();
        if i > 0 {
            writeln!(out).map_err(terminal)?;
        }
        print(&report, &place, out).map_err(terminal)?;
    }
    if !args.check || failed == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "claims that fail: {failed}").map_err(terminal)?;
    Ok(ExitCode::from(1))
}

/// Where the results of a file go.
fn directory(args: &ExperimentArgs, file: &Path) -> PathBuf {
    let mut name = name(file);
    if args.quick {
        name.as_mut_os_string().push("-quick");
    }
    match &args.out {
        Some(out) if args.files.len() == 1 => out.clone(),
        Some(out) => out.join(name),
        None => Path::new("results").join(name),
    }
}

/// The path of an experiment file below the last `experiments` in it, without `.toml`.
fn name(file: &Path) -> PathBuf {
    let steps: Vec<Component<'_>> = file.components().collect();
    let root = steps.iter().rposition(|step| step.as_os_str() == "experiments");
    let below = match root {
        Some(root) if root + 1 < steps.len() => steps[root + 1..].iter().collect(),
        _ => PathBuf::from(file.file_name().unwrap_or_default()),
    };
    below.with_extension("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_named_after_the_experiment() {
        assert_eq!(name(Path::new("/w/experiments/vail/fig-2-3.toml")), Path::new("vail/fig-2-3"));
        assert_eq!(name(Path::new("elsewhere/mine.toml")), Path::new("mine"));
    }
}
