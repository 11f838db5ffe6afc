use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use clap::Args;
use crf_core::plugin::named;
use crf_core::{Inference, Result as CoreResult, Scratch};
use crf_datasets::{append_line, open};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use toml::Value;

use crate::cli::options::format::plugin;
use crate::cli::{terminal, thread_count, threads};
use crate::config::{ConfigFault, ConfigRoot, KeyPath, Override, set};
use crate::error::{Error, Result};
use crate::graph_queries::answer::answer;
use crate::graph_queries::json::potentials;
use crate::model::data_file::file_name;
use crate::support::atomic_file::require_other_output;

/// Runs inference on graphs in JSON, one per line: log Z, marginals, most likely labelling.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  crf infer graphs.jsonl > answers.jsonl
  crf infer graphs.jsonl.gz --with junction-tree --edge-marginals
  crf infer graphs.jsonl --set damping=0.5 --set max_sweeps=1000
  crf infer graphs.jsonl --with '{type = \"gibbs\", samples = 10000}' --threads 1
  echo '{\"cards\": [2, 3], \"node\": [[0, 1.5], [0, 0, null]],
         \"edges\": [{\"u\": 0, \"v\": 1, \"table\": [[1, 0, 0], [0, 1, 0]]}]}' | tr -d '\\n' | crf infer
  crf list inference

A graph has
  cards             the number of labels of each node
  node              the log potentials of each node, one per label
  edges             optional: for each edge its ends `u` and `v`, counted from 0, and its `table` of
                    log potentials, a row per label of `u` with a number per label of `v`
`null` is −∞ and forbids. A graph with the edges 0 to 1, 1 to 2 and so on, and equally many labels
at each node, is a chain, which `forward-backward` answers too.

An answer is one line with
  log_z, log_z_is   log Z; `exact`, a `lower` or `upper` bound, or an `estimate`; with `exact` all
                    marginals are exact as well, otherwise they are estimates
  marginals         for each node the probability of each label
  edge_marginals    with --edge-marginals: for each edge a table like that of the graph
  map, map_score    the most likely labelling found, and its log potential; null if impossible
  map_upper         an upper bound of all log potentials; null if the algorithm has none
  converged, stop   true if the algorithm finished, and the reason why it stopped: `direct`,
                    `converged`, `budget`, …
  sweeps, residual  the number of passes over the graph, and the change in the last one
The last four are about the marginals. Algorithms that find labellings only (`icm`,
`dual-decomposition`) have null for `log_z`, `log_z_is` and `marginals`; the last four are then
about the labelling.

Answers come in the order of the graphs and are printed at once, so that a program may ask one by
one. The first graph without an answer, for instance because no labelling is possible, ends the run
with exit code 1 and its line number; the answers before it are printed.")]
pub struct InferArgs {
    /// The graphs, plain or gzip; standard input if omitted.
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
    /// The algorithm: its name, or a table such as '{type = "gibbs", seed = 2}'.
    #[arg(long, value_name = "INFERENCE", default_value = "belief-propagation")]
    with: String,
    /// Sets a setting of the algorithm; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Adds the marginals of each edge: the probability of each pair of labels.
    #[arg(long)]
    edge_marginals: bool,
    /// Number of threads; all cores if omitted. Answers do not depend on it.
    #[arg(long, value_name = "N", value_parser = thread_count)]
    threads: Option<NonZeroUsize>,
}

/// The largest number of lines that wait for an answer.
const WAITING: usize = 256;

/// Answers the lines that have arrived, again and again.
pub(crate) fn run(args: &InferArgs, out: &mut dyn Write) -> Result<ExitCode> {
    require_other_output(&[("the graphs", &args.file)])?;
    let inference = inference(&args.with, &args.set)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads(args.threads).get());
    let pool = pool.build().map_err(Error::format("threads"))?;
    let reply = |scratch: &mut Scratch, line: CoreResult<Line>| -> Result<String> {
        let Line { location, json } = line?;
        let mut graph = potentials(&location, &json)?;
        let answer = answer(&*inference, &mut graph, args.edge_marginals, scratch);
        serde_json::to_string(&answer.map_err(|error| error.at(location))?).map_err(Error::format("JSON"))
    };
    let lines = read(&args.file);
    while let Ok(first) = lines.recv() {
        // A program that waits for an answer before it asks again gets one: no batch has to fill
        // first.
        let arrived: Vec<_> = std::iter::once(first).chain(lines.try_iter().take(WAITING - 1)).collect();
        let replies: Vec<Result<String>> =
            pool.install(|| arrived.into_par_iter().map_init(Scratch::new, reply).collect());
        let printed = replies.into_iter().try_for_each(|reply| writeln!(out, "{}", reply?).map_err(terminal));
        printed.and(out.flush().map_err(terminal))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A line of the input and its location.
struct Line {
    location: String,
    json: Vec<u8>,
}

/// Reads lines on a thread of its own, which ends with the input or with the receiver.
fn read(file: &Path) -> Receiver<CoreResult<Line>> {
    let (sender, lines) = sync_channel(WAITING);
    let file = file.to_owned();
    std::thread::spawn(move || {
        if let Err(error) = send_lines(&file, &sender) {
            // Without a receiver there is nobody to tell.
            let _ = sender.send(Err(error));
        }
    });
    lines
}

fn send_lines(file: &Path, to: &SyncSender<CoreResult<Line>>) -> CoreResult<()> {
    let name = file_name(file);
    let mut from = open(file)?;
    for number in 1.. {
        let mut json = Vec::new();
        if !append_line(&name, number - 1, &mut *from, &mut json)? {
            break;
        }
        if number == 1 && json.starts_with("\u{feff}".as_bytes()) {
            json.drain(.."\u{feff}".len());
        }
        let location = format!("{name}:{number}");
        if !json.trim_ascii().is_empty() && to.send(Ok(Line { location, json })).is_err() {
            break;
        }
    }
    Ok(())
}

/// The inference of `--with` with the settings of `--set`.
fn inference(text: &str, settings: &[String]) -> Result<Box<dyn Inference>> {
    let refused = |fault: ConfigFault| Error::config(format!("--with {text}"), fault.message);
    let (with, mut config) = With::read_located(&plugin("--with", text)?).map_err(refused)?;
    with.check(&config).map_err(refused)?;
    for text in settings {
        config = set::<With>(&config, &Override::parse(text)?)?;
    }
    With::read(&config).map(|With(inference)| inference).map_err(|message| Error::config("--with", message))
}

/// A config that holds only the settings of an inference.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
struct With(#[serde(deserialize_with = "named")] Box<dyn Inference>);

impl ConfigRoot for With {
    fn check(&self, config: &Value) -> Result<(), ConfigFault> {
        self.0.check().map_err(|error| ConfigFault::plugin(KeyPath::default(), &error, config))
    }
}
