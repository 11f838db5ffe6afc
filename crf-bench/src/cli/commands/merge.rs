use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::experiment::{RESULTS, report, run_name, verdict};
use crate::cli::options::variant::VariantArgs;
use crate::error::{Error, Result};
use crate::experiment::cell::place;
use crate::experiment::journal::{Cells, ModelContents};
use crate::experiment::run_directory::{JOURNAL, RunDirectory};
use crate::experiment::runner::name;

/// Joins the parts that `experiment --shard` made into the run that one process would have made, byte for byte.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  cargo xtask experiment experiments/vail/fig-2-2.toml --shard 1/2    # on one machine
  cargo xtask experiment experiments/vail/fig-2-2.toml --shard 2/2    # on another
  cargo xtask merge experiments/vail/fig-2-2.toml results/vail/fig-2-2.*-of-2

All parts must come from one build of the program, and `--quick` and `--set` must be as they were.")]
pub struct MergeArgs {
    /// The experiment file.
    file: PathBuf,
    /// The directories of the parts.
    #[arg(required = true, value_name = "PART")]
    parts: Vec<PathBuf>,
    #[command(flatten)]
    variant: VariantArgs,
    /// Directory of the results; `results/<name of the file>` unless given.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Fails when a claim fails.
    #[arg(long)]
    check: bool,
}

/// Collects the cells of all parts and writes the report.
pub(crate) fn run(args: &MergeArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let plan = args.variant.load(&args.file)?;
    let parts = args.parts.iter().map(|part| Ok((part, ModelContents::load(&part.join(JOURNAL))?)));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let (first, code) = (parts[0].0, parts[0].1.code);
    if let Some((part, _)) = parts.iter().find(|(_, content)| content.code != code) {
        let message = format!("made by another build of the program than {}", first.display());
        return Err(Error::config(part.display(), message));
    }
    let path =
        args.out.clone().unwrap_or_else(|| Path::new(RESULTS).join(run_name(&args.file, args.variant.quick)));
    // Everything is looked at before the directory of the results is touched.
    let cells: Cells = parts.into_iter().flat_map(|(_, content)| content.cells).collect();
    let merged = RunDirectory::look(&path, &plan, &code)?.with(&cells);
    if let Some(missing) = merged.first_missing() {
        let (method, point, trial) = name(&plan, missing);
        let method = &plan.experiment.methods[method].0;
        let cell = place(&format!("method {method}"), &plan.points[point].settings, trial);
        let (have, want) = (merged.n_finished(), merged.n_cells());
        let message = format!("{have} of {want} cells are in the parts given; the first that is not: {cell}");
        return Err(Error::config(args.file.display(), message));
    }
    let mut directory = RunDirectory::open(&path, &plan, &code)?;
    directory.adopt(&cells)?;
    let failed = report(&plan, &directory, out)?;
    verdict(args.check, failed, out)
}
