use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::cli::options::variant::VariantArgs;
use crate::cli::output::table::markdown;
use crate::cli::{terminal, threads};
use crate::error::Result;
use crate::experiment::cost::{Cost, Size, duration};
use crate::support::text::{plural, shown};

/// Checks experiment files and estimates their cost, without running anything.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  crf check experiments/quickstart.toml
  crf check experiments/vail/*.toml --quick

Keys, types, ranges and names are checked as for a run. The data of the first and the last point are read and encoded. \
The time is a rule of thumb, right to a factor of a few; selection of features is not counted.")]
pub struct CheckArgs {
    /// Experiment files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    variant: VariantArgs,
}

/// Checks all files and stops at the first wrong one.
pub(crate) fn run(args: &CheckArgs, out: &mut dyn Write) -> Result<ExitCode> {
    for file in &args.files {
        let plan = args.variant.load(file)?;
        let cost = Cost::estimate(&plan)?;
        let points = plan.points.len();
        let trials = plan.experiment.trials;
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
            "{}: right; {} at {} in {}, about {time}\n{table}",
            shown(file),
            plural(cost.cells, "cell"),
            plural(points, "point"),
            plural(trials as usize, "trial"),
        )
        .map_err(terminal)?;
    }
    Ok(ExitCode::SUCCESS)
}
