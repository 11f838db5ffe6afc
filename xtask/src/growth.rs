//! `cargo xtask growth`: time against the number of labels and the size of the data.

mod machine;

use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use crf_core::{
    Beliefs, EdgeBeliefs, Features, FitContext, Inference as _, Iteration, Learner, OwnedPotentials,
    Prepared, Scratch, Seed, encode,
};
use crf_datasets::{Conll, Format};
use crf_inference::ForwardBackward;
use serde::Serialize;

use crf_bench::cli::{markdown, print_json, progress, terminal, thread_count, threads};
use crf_bench::{Error, Result};

use crate::growth::machine::{peak_flops, read_rate, seconds};

/// Measures the growth of time with labels and with data, and its bound on this machine.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask growth
  CRF_DATA=~/data cargo xtask growth --threads 1 --json > growth.json

The chains are synthetic. The data are `conll2000/train.txt.gz` below CRF_DATA, repeated in memory; without CRF_DATA \
this half is omitted.")]
pub(crate) struct GrowthArgs {
    /// Number of threads for the growth with data; all cores if omitted. Chains run on one.
    #[arg(long, value_name = "N", value_parser = thread_count)]
    threads: Option<NonZeroUsize>,
    /// The largest number of copies of the data; copies grow by factors of 4.
    #[arg(long, value_name = "N", default_value = "16")]
    copies: NonZeroUsize,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// The printed measurements.
#[derive(Debug, Serialize)]
struct Growth {
    /// Floating-point operations per second of one core, in billions.
    peak_gflops: f64,
    /// Bytes per second that one core reads from memory, in billions.
    memory_gbytes: f64,
    labels: Vec<Chain>,
    threads: usize,
    data: Vec<Pass>,
}

/// Forward-backward with a number of labels.
#[derive(Debug, Serialize)]
struct Chain {
    labels: usize,
    /// Nanoseconds per position.
    ns: f64,
    gflops: f64,
    /// The share of the machine's peak.
    flops_share: f64,
    /// The share of the rate at which this core reads memory of the tables' size.
    bytes_share: f64,
    bound: &'static str,
}

/// An evaluation of the likelihood and its gradient on a number of copies of the data.
#[derive(Debug, Serialize)]
struct Pass {
    copies: usize,
    positions: usize,
    features_seconds: f64,
    seconds: f64,
}

/// Measures and prints.
pub(crate) fn run(args: &GrowthArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let line = progress::line("measuring the machine");
    let peak = peak_flops();
    let mut growth = Growth {
        peak_gflops: peak / 1e9,
        memory_gbytes: read_rate(1 << 29) / 1e9,
        labels: Vec::new(),
        threads: threads(args.threads).get(),
        data: Vec::new(),
    };
    for labels in [2, 4, 8, 16, 22, 32, 64, 128, 256] {
        line.set_message(format!("chains of {labels} labels"));
        growth.labels.push(Chain::measure(labels, peak)?);
    }
    let file = std::env::var_os("CRF_DATA").map(|directory| PathBuf::from(directory).join(DATA));
    if let Some(file) = &file {
        growth.data = passes(file, args, &mut |message| line.set_message(message))?;
    }
    line.finish_and_clear();
    if args.json {
        print_json(&growth, out)?;
    } else {
        growth.print(file.is_none(), out).map_err(terminal)?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Chain {
    /// Times forward-backward with all marginals on one core.
    fn measure(labels: usize, peak: f64) -> Result<Self> {
        const LENGTH: usize = 200;
        let mut x = OwnedPotentials::random(LENGTH, labels, 3.0, &Seed::new(1));
        let p = x.view();
        let inference = ForwardBackward::default();
        let mut scratch = Scratch::new();
        let (mut node, mut sums) = (vec![0.0; LENGTH * labels], vec![0.0; labels * labels]);
        let mut infer = || {
            let edge = EdgeBeliefs::PerTable { sums: &mut sums, weight: 1.0 };
            inference.infer(&p, &mut Beliefs { node: &mut node, edge }, &mut scratch)
        };
        infer()?;
        let time = seconds(infer) / LENGTH as f64;
        let pairs = (labels * labels) as f64;
        // Per pair of labels, a multiply-add forward, one backward and one for the sum of edge
        // marginals. Each direction reads its table, and the sums are read and written once in four
        // steps.
        let (flops, bytes) = (6.0 * pairs / time, 20.0 * pairs / time);
        let tables = 3 * labels * labels * size_of::<f64>();
        let (flops_share, bytes_share) = (flops / peak, bytes / read_rate(tables));
        let bound = match (flops_share, bytes_share) {
            (flops, bytes) if flops.max(bytes) < 0.3 => "steps that wait for each other",
            (flops, bytes) if flops > bytes => "multiply-adds",
            _ => "reading the tables",
        };
        Ok(Chain { labels, ns: time * 1e9, gflops: flops / 1e9, flops_share, bytes_share, bound })
    }
}

/// The repeated data.
const DATA: &str = "conll2000/train.txt.gz";

/// The usual chunking features with observed pairs.
const FEATURES: &str = r#"[{ "pairs": "observed", "transition": "one" }, { "pairs": "observed", "state": {
    "type": "template", "templates": [
    "word[-2]", "word[-1]", "word[0]", "word[1]", "word[2]", "word[-1]|word[0]", "word[0]|word[1]",
    "pos[-2]", "pos[-1]", "pos[0]", "pos[1]", "pos[2]",
    "pos[-2]|pos[-1]", "pos[-1]|pos[0]", "pos[0]|pos[1]", "pos[1]|pos[2]",
    "pos[-2]|pos[-1]|pos[0]", "pos[-1]|pos[0]|pos[1]", "pos[0]|pos[1]|pos[2]", "first", "last"
] } }]"#;

/// Times training on one copy of the data, four, sixteen and so on.
fn passes(file: &Path, args: &GrowthArgs, say: &mut dyn FnMut(String)) -> Result<Vec<Pass>> {
    let features: Features = serde_json::from_str(FEATURES).map_err(Error::format("features"))?;
    let learner = serde_json::json!({ "type": "mle", "l2": 2.0, "stop": { "iterations": 4 } });
    let learner: Box<dyn Learner> = serde_json::from_value(learner).map_err(Error::format("learner"))?;
    let conll = Conll { columns: vec!["word".into(), "pos".into()], ..Conll::default() };
    say(format!("reading {}", file.display()));
    let data = (&conll as &dyn Format).read_file(file, None)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads(args.threads).get());
    let pool = pool.build().map_err(Error::format("threads"))?;
    let mut passes = Vec::new();
    let mut copies = 1;
    while copies <= args.copies.get() {
        say(format!("data repeated {copies} times"));
        let many: Vec<usize> = (0..copies).flat_map(|_| 0..data.len()).collect();
        let many = Arc::new(data.subset(&many));
        let positions = many.n_positions();
        let mut seen: Vec<Iteration> = Vec::new();
        let mut watch = |iteration: &Iteration| {
            seen.push(iteration.clone());
            ControlFlow::Continue(())
        };
        let features_seconds = pool.install(|| {
            let clock = Instant::now();
            let prepared = Prepared::fit(&features, many, None, &encode)?;
            let features_seconds = clock.elapsed().as_secs_f64();
            let mut run = FitContext::new(Seed::new(0), &mut watch);
            learner.fit(&prepared.problem(&ForwardBackward::default()), &mut run)?;
            Ok::<_, Error>(features_seconds)
        })?;
        let steps = seen.windows(2).map(|step| {
            (step[1].seconds - step[0].seconds) / f64::from(step[1].evaluations - step[0].evaluations)
        });
        let seconds = steps.fold(f64::INFINITY, f64::min);
        passes.push(Pass { copies, positions, features_seconds, seconds });
        copies *= 4;
    }
    Ok(passes)
}

impl Growth {
    fn print(&self, without_data: bool, out: &mut dyn Write) -> std::io::Result<()> {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        writeln!(
            out,
            "one core: {:.1} billion floating-point operations per second, {:.1} GB per second from memory\n",
            self.peak_gflops, self.memory_gbytes
        )?;
        let head = [
            "labels L",
            "ns per position",
            "ns / L²",
            "Gflop/s",
            "of multiply-add peak",
            "of read rate",
            "bound by",
        ];
        let row = |chain: &Chain| {
            vec![
                chain.labels.to_string(),
                format!("{:.1}", chain.ns),
                format!("{:.3}", chain.ns / (chain.labels * chain.labels) as f64),
                format!("{:.1}", chain.gflops),
                percent(chain.flops_share),
                percent(chain.bytes_share),
                chain.bound.to_owned(),
            ]
        };
        writeln!(out, "{}\n", markdown(&head, self.labels.iter().map(row).collect(), 7))?;
        if without_data {
            return writeln!(
                out,
                "growth with data was omitted: set CRF_DATA to the directory that holds `{DATA}`, the public \
                 CoNLL-2000 chunking data"
            );
        }
        let head = ["copies", "positions", "features, s", "evaluation, s", "ns per position"];
        let row = |pass: &Pass| {
            vec![
                pass.copies.to_string(),
                pass.positions.to_string(),
                format!("{:.2}", pass.features_seconds),
                format!("{:.3}", pass.seconds),
                format!("{:.0}", pass.seconds * 1e9 / pass.positions as f64),
            ]
        };
        writeln!(out, "CoNLL-2000, {} threads\n", self.threads)?;
        writeln!(out, "{}", markdown(&head, self.data.iter().map(row).collect(), 5))
    }
}
