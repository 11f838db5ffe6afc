use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::experiment::{RESULTS, report, run_name, verdict};
use crate::cli::options::variant::VariantArgs;
use crate::error::{Error, Result};
use crate::experiment::cell::cell_name;
use crate::experiment::journal::{Cells, JournalContents};
use crate::experiment::run_directory::{JOURNAL, RunDirectory, require_apart};
use crate::experiment::runner::cell_coordinates;

/// Joins the parts of `experiment --shard` into one run, byte for byte that of a single process.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  cargo xtask experiment experiments/vail/fig-2-2.toml --shard 1/2    # on one machine
  cargo xtask experiment experiments/vail/fig-2-2.toml --shard 2/2    # on another
  cargo xtask merge experiments/vail/fig-2-2.toml results/vail/fig-2-2.*-of-2

All parts must come from the same build of the program; give the same `--quick` and `--set` as for the parts.")]
pub struct MergeArgs {
    /// The experiment file.
    file: PathBuf,
    /// The directories of the parts.
    #[arg(required = true, value_name = "PART")]
    parts: Vec<PathBuf>,
    #[command(flatten)]
    variant: VariantArgs,
    /// The directory of the results; `results/<name of the file>` if omitted.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Exits with 1 if a claim fails.
    #[arg(long)]
    check: bool,
}

/// Collects the cells of all parts and writes the report.
pub(crate) fn run(args: &MergeArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let plan = args.variant.load(&args.file)?;
    let parts = args.parts.iter().map(|part| Ok((part, JournalContents::load(&part.join(JOURNAL))?)));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let (first, JournalContents { code, .. }) = &parts[0];
    let code = *code;
    if let Some((part, _)) = parts.iter().find(|(_, contents)| contents.code != code) {
        let message = format!("made by another build of the program than {}", first.display());
        return Err(Error::config(part.display(), message));
    }
    let path =
        args.out.clone().unwrap_or_else(|| Path::new(RESULTS).join(run_name(&args.file, args.variant.quick)));
    let journals: Vec<PathBuf> = args.parts.iter().map(|part| part.join(JOURNAL)).collect();
    let inputs = journals.iter().map(|journal| ("the journal of a part", &**journal));
    let inputs: Vec<_> = [("the experiment file", &*args.file)].into_iter().chain(inputs).collect();
    require_apart(&path, &plan, &inputs)?;
    // All parts are checked before the directory of the results is touched.
    let cells: Cells = parts.into_iter().flat_map(|(_, contents)| contents.cells).collect();
    let merged = RunDirectory::peek(&path, &plan, &code)?.with(&cells);
    if let Some(missing) = merged.first_missing() {
        let (method, point, trial) = cell_coordinates(&plan, missing);
        let method = &plan.experiment.methods[method].0;
        let cell = cell_name(&format!("method {method}"), &plan.points[point].settings, trial);
        let (have, want) = (merged.n_finished(), merged.n_cells());
        let message = format!("the parts have {have} of {want} cells; the first missing one is {cell}");
        return Err(Error::config(args.file.display(), message));
    }
    let mut directory = RunDirectory::open(&path, &plan, &code)?;
    directory.adopt(&cells)?;
    let failed = report(&plan, &directory, out)?;
    verdict(args.check, failed, out)
}
