use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::cli::options::format::format;
use crate::cli::terminal;
use crate::error::Result;
use crate::support::atomic_file::{AtomicFile, require_distinct, require_other_output};

/// Converts data from one format to another.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  crf convert --from conll --to '{type = \"csv\", sequence = \"sentence\"}' train.txt.gz train.csv
  crf convert --from crfsuite --to jsonl - < train.crfsuite | head -1
  crf convert --from '{type = \"crfsuite\", labelled = false}' --to crfsuite in.txt out.txt")]
pub struct ConvertArgs {
    /// The format of the input, by name or as a table with its settings.
    #[arg(long, value_name = "FORMAT")]
    from: String,
    /// The format of the output, by name or as a table with its settings.
    #[arg(long, value_name = "FORMAT")]
    to: String,
    /// The input file; `-` is standard input.
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The output file; standard output if omitted or `-`.
    #[arg(value_name = "OUT")]
    output: Option<PathBuf>,
}

/// Reads all data, then writes them.
pub(crate) fn run(args: &ConvertArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let (from, to) = (format("--from", &args.from)?, format("--to", &args.to)?);
    let output = args.output.as_deref().filter(|output| *output != Path::new("-"));
    let input = [("the input", &*args.input)];
    output.map_or_else(
        || require_other_output(&input),
        |output| require_distinct(&[("OUT", output)], &input),
    )?;
    let file = output.map(AtomicFile::new).transpose()?;
    let data = from.read_file(&args.input, None)?;
    match file {
        Some(file) => file.write(|file| Ok(to.write(&data, file)?))?,
        None => {
            let mut out = BufWriter::with_capacity(1 << 16, out);
            to.write(&data, &mut out)?;
            out.flush().map_err(terminal)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
