use std::io::{BufRead as _, BufWriter, Write};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use crf_core::{Dataset, Decode, Error as CoreError, Prediction, Query, Schema};
use crf_datasets::{Format, Text, open};
use rayon::prelude::*;

use crate::cli::options::constraints::ConstraintsArgs;
use crate::cli::options::format::FormatArgs;
use crate::cli::terminal;
use crate::error::{Error, Result};
use crate::model::data_file::file_name;
use crate::model::file::ModelFile;
use crate::support::atomic_file::require_other_output;

/// Labels data with a model: one label per line, a blank line after each sequence.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  crf tag --model chunks.crf test.crfsuite > labels.txt
  zcat test.txt.gz | crf tag --model chunks.crf --marginals | less
  crf tag --model chunks.crf --nbest 3 test.crfsuite
  crf tag --model chunks.crf --constraints bio test.crfsuite
  crf tag --model chunks.crf --set format.label=false new.conll
  crf tag --model chunks.crf --set format.labelled=false new.crfsuite

With --marginals each line has the label and, after TABs, every label with its probability: `O  O:0.98  B-NP:0.02`.
With --nbest a line `@` with the probability precedes each labelling.")]
pub struct TagArgs {
    /// The model file.
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,
    /// The data; standard input if omitted. Labels in the data are ignored.
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    constraints: ConstraintsArgs,
    /// Adds the probability of every label.
    #[arg(long)]
    marginals: bool,
    /// Prints the K most likely labellings of each sequence.
    #[arg(long, value_name = "K", conflicts_with_all = ["marginals", "decode"])]
    nbest: Option<NonZeroUsize>,
    /// The decoding; that of the training if omitted.
    #[arg(long, value_name = "HOW")]
    decode: Option<DecodeArg>,
    /// Number of positions per batch: read, labelled and printed together; sequences stay whole.
    #[arg(long, value_name = "N", default_value = "20000")]
    batch: NonZeroUsize,
}

/// The decoding: which labelling is the answer.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum DecodeArg {
    /// The most likely labelling as a whole.
    Viterbi,
    /// The most likely label of each position.
    Posterior,
}

impl From<DecodeArg> for Decode {
    fn from(arg: DecodeArg) -> Self {
        match arg {
            DecodeArg::Viterbi => Decode::Viterbi,
            DecodeArg::Posterior => Decode::Posterior,
        }
    }
}

/// Labels batch by batch.
pub(crate) fn run(args: &TagArgs, out: &mut dyn Write) -> Result<ExitCode> {
    require_other_output(&[("the data", &args.file), ("the model", &args.model)])?;
    let file = args.constraints.load(&args.model)?;
    let format = args.format.or_model_format(&file)?;
    let decode = args.decode.map_or(file.settings.decode, Decode::from);
    let query = match (args.nbest, args.marginals) {
        (Some(k), _) => Query::Best(k.get()),
        (None, true) => Query::Marginals(decode),
        (None, false) => Query::Labels(decode),
    };
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let schema = file.contents.features.schema();
    let mut failed = None;
    let mut before = 0;
    let mut label = |batch: Vec<Dataset>| -> Result<()> {
        let numbered = batch.into_iter().map(|data| {
            before += data.len();
            (before - data.len(), data)
        });
        let numbered: Vec<(usize, Dataset)> = numbered.collect();
        let labelled: Vec<Labelled> =
            numbered.into_par_iter().map(|(before, data)| labelled(&file, query, before, data)).collect();
        for Labelled { text, error } in labelled {
            out.write_all(&text).map_err(terminal)?;
            if let Some(error) = error {
                out.flush().map_err(terminal)?;
                return Err(error.at(file_name(&args.file)).into());
            }
        }
        out.flush().map_err(terminal)
    };
    let name = file_name(&args.file);
    let mut from = open(&args.file)?;
    // Whole lines only: a line that was cut cannot be read.
    let mut beginning = from.fill_buf().map_err(Error::io(&args.file))?.to_vec();
    beginning.truncate(beginning.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1));
    let read = format.read_in_chunks(&name, &mut *from, schema, args.batch.get(), &mut |batch| {
        failed = label(batch).err();
        Ok(if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    });
    failed.map_or(Ok(()), Err)?;
    read.map_err(|error| match unlabelled(&*format, &name, &beginning, schema) {
        Some(setting) => CoreError::data(format!("{error}; data without labels need `--set {setting}`")),
        None => error,
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The printed answers for a part of the data, up to the first sequence without an answer.
struct Labelled {
    text: Vec<u8>,
    error: Option<CoreError>,
}

/// Labels the sequences of a batch, which follows `before` others.
fn labelled(file: &ModelFile, query: Query, before: usize, data: Dataset) -> Labelled {
    let data = Arc::new(data);
    if let Ok(text) = printed(file, query, &data) {
        return Labelled { text, error: None };
    }
    // One by one, so that the sequence is known, and those before it are labelled all the same.
    let mut text = Vec::new();
    for i in 0..data.len() {
        match printed(file, query, &Arc::new(data.subset(&[i]))) {
            Ok(answer) => text.extend(answer),
            Err(error) => return Labelled { text, error: Some(numbered(error, before + i + 1)) },
        }
    }
    Labelled { text, error: None }
}

/// The error about the only sequence of its data, with the number of that sequence in the file.
fn numbered(error: CoreError, number: usize) -> CoreError {
    match error {
        CoreError::At { place, source } => match place.strip_prefix("sequence 1") {
            Some(within) => source.at(format!("sequence {number}{within}")),
            None => source.at(place).at(format!("sequence {number}")),
        },
        other => other.at(format!("sequence {number}")),
    }
}

/// The printed answers for all sequences.
fn printed(file: &ModelFile, query: Query, data: &Arc<Dataset>) -> crf_core::Result<Vec<u8>> {
    let predictions = file.predict(&file.contents.features.encode(data.clone())?, query)?;
    let mut text = Vec::new();
    for (i, prediction) in predictions.iter().enumerate() {
        print(data, i, prediction, &mut text)
            .map_err(|source| CoreError::Io { path: "the answers".into(), source })?;
    }
    Ok(text)
}

/// The setting for data without labels, if their beginning can be read with it and not without it.
fn unlabelled(
    format: &dyn Format,
    name: &str,
    beginning: &[u8],
    schema: &Arc<Schema>,
) -> Option<&'static str> {
    let (setting, without) = format.without_labels()?;
    let readable = |format: &dyn Format| {
        let mut beginning = beginning;
        let text = Text::new(name, &mut beginning);
        format.read(text, Some(schema), usize::MAX, &mut |_| Ok(ControlFlow::Continue(()))).is_ok()
    };
    (readable(&*without) && !readable(format)).then_some(setting)
}

/// Prints the answer for sequence `i`, and a blank line.
fn print(data: &Dataset, i: usize, prediction: &Prediction, out: &mut dyn Write) -> std::io::Result<()> {
    let shape = data.shape(i);
    let name = |n: usize, label| data.label_name(shape.kind(n), label);
    for (probability, labels) in &prediction.best {
        writeln!(out, "@{probability:.6}")?;
        for (n, &label) in labels.iter().enumerate() {
            writeln!(out, "{}", name(n, label))?;
        }
    }
    for (n, &label) in prediction.labels.iter().enumerate() {
        out.write_all(name(n, label).as_bytes())?;
        if !prediction.marginals.is_empty() {
            let marginals = &prediction.marginals[shape.node_offset(n)..shape.node_offset(n + 1)];
            for (label, probability) in (0..).zip(marginals) {
                write!(out, "\t{}:{probability:.6}", name(n, label))?;
            }
        }
        out.write_all(b"\n")?;
    }
    out.write_all(b"\n")
}
