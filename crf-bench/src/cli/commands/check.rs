use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::cli::options::variant::VariantArgs;
use crate::cli::output::table::markdown;
use crate::cli::{terminal, threads};
use crate::error::Result;
use crate::experiment::cost::{Cost, Size, duration};

/// Checks experiment files and says what they would cost, without running anything.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  crf check experiments/quickstart.toml
  crf check experiments/vail/*.toml --quick

Keys, types, ranges and names are those of a run, the data of the first and last points are read and encoded, and the time \
is a rule of thumb: right to a factor of a few.")]
pub struct CheckArgs {
    /// Experiment files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    variant: VariantArgs,
}

/// Checks all files; the first that is wrong ends it.
pub(crate) fn run(args: &CheckArgs, out: &mut dyn Write) -> Result<ExitCode> {
    for file in &args.files {
        let plan = args.variant.load(file)?;
        let cost = Cost::of(&plan)?;
        let (points, trials) = (plan.points.len(), plan.experiment.trials);
        let time = duration(cost.seconds / threads(None).get() as f64);
        let head = ["method", "sequences", "positions", "labels", "functions", "MB encoded", "weights"];
        let rows = cost.sizes.into_iter().map(|size| {
            let Size { method, sequences, positions, labels, functions, megabytes, weights } = size;
            let numbers = [sequences, positions, labels, functions, megabytes, weights];
            [vec![method], numbers.map(|number| number.to_string()).to_vec()].concat()
        });
        let table = markdown(&head, rows.collect(), 6);
        writeln!(
            out,
            "{}: right; {} cells at {points} points in {trials} trials, about {time}\n{table}",
            file.display(),
            cost.cells
        )
        .map_err(terminal)?;
    }
    Ok(ExitCode::SUCCESS)
}
