use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use crf_core::Decode;

use super::tag::DecodeArg;
use crate::cli::options::constraints::ConstraintsArgs;
use crate::cli::options::format::FormatArgs;
use crate::cli::output::table::markdown;
use crate::cli::{print_facts, print_json, terminal};
use crate::error::Result;
use crate::model::calibration::Calibration;
use crate::model::data_file::file_name;
use crate::model::scores::Scores;

/// Measures a model on labelled data: accuracy, F1 of chunks and labels, likelihood, calibration.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  crf eval --model chunks.crf --data test.crfsuite
  crf eval --model chunks.crf --data - --decode viterbi --json < test.crfsuite | jq .chunk_f1
  crf eval --model chunks.crf --data test.crfsuite --constraints bio

A true label that the model does not know counts as an error, and in `unknown_labels`.")]
pub struct EvalArgs {
    /// The model file.
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,
    /// The labelled data; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    constraints: ConstraintsArgs,
    /// The decoding; that of the training if omitted.
    #[arg(long, value_name = "HOW")]
    decode: Option<DecodeArg>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Reads all data, labels them and compares with the true labels.
pub(crate) fn run(args: &EvalArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let file = args.constraints.load(&args.model)?;
    let format = args.format.or_model_format(&file)?;
    let data = format.read_file(&args.data, Some(file.contents.features.schema()))?;
    let decode = args.decode.map_or(file.settings.decode, Decode::from);
    let scores = Scores::new(&file, Arc::new(data), decode);
    let scores = scores.map_err(|error| error.at(file_name(&args.data)))?;
    if args.json {
        print_json(&scores, out)?;
    } else {
        print(&scores, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print(scores: &Scores, out: &mut dyn Write) -> Result<()> {
    print_facts(&scores.facts(), out)?;
    let row = |label: &crate::model::scores::LabelScores| {
        let numbers = [label.precision, label.recall, label.f1];
        let mut row = vec![label.label.clone()];
        row.extend(numbers.map(|number| format!("{number:.4}")));
        row.extend([label.truth.to_string(), label.predicted.to_string()]);
        row
    };
    let head = ["label", "precision", "recall", "f1", "true", "predicted"];
    let labels = markdown(&head, scores.labels.iter().map(row).collect(), 5);
    writeln!(out, "\n{labels}").map_err(terminal)?;
    let Some(Calibration { bins, .. }) = &scores.calibration else { return Ok(()) };
    let step = 1.0 / bins.len() as f64;
    let row = |(i, bin): (usize, &crate::Bin)| {
        let from = i as f64 * step;
        vec![
            format!("{from:.1} to {:.1}", from + step),
            format!("{:.4}", bin.confidence),
            format!("{:.4}", bin.accuracy),
            bin.count.to_string(),
        ]
    };
    let head = ["probability", "confidence", "accuracy", "count"];
    let bins = markdown(&head, bins.iter().enumerate().map(row).collect(), 3);
    writeln!(out, "\n{bins}").map_err(terminal)
}
