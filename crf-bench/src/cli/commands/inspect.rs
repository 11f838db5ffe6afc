use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use crf_core::{Iteration, Stop};
use serde::Serialize;

use crate::cli::output::table::markdown;
use crate::cli::{print_facts, print_json, terminal};
use crate::error::Result;
use crate::model::file::ModelFile;

/// Shows a model: its labels, features, training and largest weights.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  crf inspect --model chunks.crf
  crf inspect --model chunks.crf --top 100 --json | jq .weights")]
pub struct InspectArgs {
    /// The model file.
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,
    /// Number of weights to show.
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// The answer of `inspect`.
#[derive(Debug, Serialize)]
struct Inspection<'a> {
    bytes: u64,
    model: &'static str,
    labels: Vec<&'a str>,
    channels: Vec<Channel<'a>>,
    /// Number of observation functions; only of log-linear models.
    functions: Option<usize>,
    features: Option<usize>,
    non_zeros: Option<usize>,
    config: &'a str,
    seed: u64,
    digest: &'a str,
    toolkit: &'a str,
    stop: Stop,
    iterations: usize,
    first: Option<Progress>,
    last: Option<Progress>,
    weights: Vec<Weight>,
}

#[derive(Debug, Serialize)]
struct Channel<'a> {
    name: &'a str,
    holds: &'static str,
    symbols: Option<usize>,
}

/// An iteration without its time, which model files omit.
#[derive(Debug, Serialize)]
struct Progress {
    objective: f64,
    gradient_norm: f64,
    non_zeros: usize,
    evaluations: u32,
}

impl Progress {
    fn new(&Iteration { objective, gradient_norm, non_zeros, evaluations, .. }: &Iteration) -> Self {
        Progress { objective, gradient_norm, non_zeros, evaluations }
    }
}

#[derive(Debug, Serialize)]
struct Weight {
    feature: String,
    weight: f64,
}

/// Prints the model as text or JSON.
pub(crate) fn run(args: &InspectArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let (file, bytes) = ModelFile::load_sized(&args.model)?;
    let inspection = Inspection::new(&file, bytes, args.top);
    if args.json {
        print_json(&inspection, out)?;
    } else {
        inspection.print(out)?;
    }
    Ok(ExitCode::SUCCESS)
}

impl<'a> Inspection<'a> {
    fn new(file: &'a ModelFile, bytes: u64, top: usize) -> Self {
        let contents = &file.contents;
        let schema = contents.features.schema();
        let log_linear = contents.model.log_linear();
        let iterations = &contents.trace.iterations;
        let mut weights = Vec::new();
        contents.model.describe(top, &mut |feature, weight| {
            weights.push(Weight { feature: feature.to_owned(), weight });
        });
        let channel = |channel: &'a crf_core::Channel| Channel {
            name: &channel.name,
            holds: channel.kind.holds(),
            symbols: channel.kind.alphabet().map(crf_core::Alphabet::len),
        };
        let n_functions = |model: &crf_core::LogLinear| {
            model.map().state().n_observations() + model.map().transition().n_observations()
        };
        Inspection {
            bytes,
            model: contents.model.typetag_name(),
            labels: schema.kinds().iter().flat_map(|kind| kind.labels.names().iter()).collect(),
            channels: schema.channels().iter().map(channel).collect(),
            functions: log_linear.map(n_functions),
            features: log_linear.map(|model| model.map().len()),
            non_zeros: log_linear.map(|model| model.weights().iter().filter(|w| **w != 0.0).count()),
            config: &contents.config,
            seed: file.settings.seed,
            digest: &contents.digest,
            toolkit: &contents.toolkit,
            stop: contents.trace.stop,
            iterations: iterations.len(),
            first: iterations.first().map(Progress::new),
            last: iterations.last().map(Progress::new),
            weights,
        }
    }

    fn print(&self, out: &mut dyn Write) -> Result<()> {
        let channels = self.channels.iter().map(|channel| match channel.symbols {
            Some(symbols) => format!("{} ({}, {symbols} different)", channel.name, channel.holds),
            None => format!("{} ({})", channel.name, channel.holds),
        });
        let mut facts = vec![
            ("model", format!("{}, {} bytes", self.model, self.bytes)),
            ("labels", format!("{}: {}", self.labels.len(), self.labels.join(" "))),
            ("channels", channels.collect::<Vec<_>>().join(", ")),
        ];
        if let (Some(functions), Some(features), Some(non_zeros)) =
            (self.functions, self.features, self.non_zeros)
        {
            facts.push(("features", format!("{features} of {functions} functions, {non_zeros} not zero")));
        }
        facts.push(("seed", self.seed.to_string()));
        facts.push(("data", format!("SHA-256 {}", self.digest)));
        facts.push(("toolkit", self.toolkit.to_owned()));
        facts.push(("training", format!("{} iterations, {}", self.iterations, self.stop)));
        if let (Some(first), Some(last)) = (&self.first, &self.last) {
            facts.push(("objective", format!("{:.4} to {:.4}", first.objective, last.objective)));
            facts.push(("gradient norm", format!("{:.4e}", last.gradient_norm)));
            facts.push(("evaluations", last.evaluations.to_string()));
        }
        print_facts(&facts, out)?;
        let row = |weight: &Weight| vec![weight.feature.clone(), format!("{:.4}", weight.weight)];
        let table = markdown(&["feature", "weight"], self.weights.iter().map(row).collect(), 1);
        writeln!(out, "\n{}\n{table}", self.config.trim_end()).map_err(terminal)
    }
}
