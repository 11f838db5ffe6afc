use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use crf_core::{Dataset, Iteration, Seed};
use toml::{Table, Value};

use crate::cli::options::constraints::constraints;
use crate::cli::options::format::{inline, plugin};
use crate::cli::output::trace_file::TraceFile;
use crate::cli::output::training_summary::{Summary, Trained};
use crate::cli::{print_json, thread_count, threads};
use crate::config::{ConfigRoot as _, KeyPath, Override, Request, Templates, Training, Tune};
use crate::error::{Error, Result};
use crate::model::cross_validate::tune;
use crate::model::data_file::{file_name, read_digest};
use crate::model::file::ModelFile;
use crate::model::scores::Scores;
use crate::model::train::{Seconds, train};
use crate::support::atomic_file::{AtomicFile, require_distinct};
use crate::support::progress;

/// Trains a model on labelled data and writes it to a file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  crf train --format crfsuite --data train.crfsuite --model chunks.crf --set learner.l2=2.0
  crf train --format conll --data train.txt.gz --model chunks.crf --holdout-fraction 0.1 --seed 7
  crf train --format csv --data readings.csv --model robot.crf --learner hmm
  crf train --format conll --data a.txt --model a.crf --features '[{state = \"equals\"}, \"transition\"]'
  crf train chunks.toml --data train.txt --model chunks.crf --trace trace.jsonl --threads 2
  crf train --format crfsuite --data more.crfsuite --model new.crf --warm-start chunks.crf
  crf train --format conll --data train.txt --model chunks.crf --constraints bio
  crf train --format conll --data train.txt --model chunks.crf --template chunks.template
  crf train --format conll --data train.txt --model chunks.crf --template '{file = \"chunks.template\", \
pairs = \"observed\", min_count = 3}'
  crf train --format conll --data tags.txt --model tags.crf --constraints '{never_last = [\"DT\"]}'
  crf train --format conll --data train.txt --model chunks.crf --learner perceptron --holdout dev.txt --patience 3
  crf train --format crfsuite --data train.crfsuite --model best.crf --tune learner.l2=0.1,0.3,1,3,10
  crf train chunks.toml --data train.txt --model best.crf --tune learner.l2=1,2 --tune learner.l1=0,0.1 \
--folds 10 --tune-by chunk-f1

A config file has the keys `format`, `features` or `template`, `constraints`, `learner`, `inference`, `decode`, \
`selector`, `seed` and `tune`; options override it. `crf list` shows the names that they take. If the features are \
omitted, they suit the data: observed attributes and transitions for `crfsuite`; every symbol, every number, normalised, \
and every transition otherwise.

A template file has one template per line, with macros such as `%x[-1,0]`: `U…` for states, `B…` for transitions, `*…` \
for both. `B` alone is the plain transition, and `#` begins a comment. In a config its path is relative to the config. Each \
attribute is paired with all labels unless `pairs` is `observed`. The model keeps the templates, not the file.

With --tune each combination of values is cross-validated: the sequences are dealt into folds, and a model that was \
trained on the other folds labels each fold. The best combination, among equals the one with the larger numbers, is then \
trained on all data. The holdout data take no part in this choice, so that their scores are a fair estimate of the tuned \
model. With --patience they choose when to stop, and their scores flatter the model.")]
pub struct TrainArgs {
    /// The config file.
    #[arg(value_name = "CONFIG.toml")]
    config: Option<PathBuf>,
    /// The labelled data; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// The model file to write.
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,
    /// The format of the data: its name, or a table with its settings.
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// The learner: its name, or a table with its settings; `mle` if omitted.
    #[arg(long, value_name = "LEARNER")]
    learner: Option<String>,
    /// The features, a list in TOML or JSON.
    #[arg(long, value_name = "LIST", conflicts_with = "warm_start")]
    features: Option<String>,
    /// The features, a template file of CRF++ or Wapiti, or a table with `file`, `pairs` and
    /// `min_count`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["features", "warm_start"])]
    template: Option<String>,
    /// Constraints on neighbouring labels, in training and whenever the model is used: `bio`,
    /// `bioes`, or a table with `scheme`, `forbid`, `never_first` and `never_last`.
    #[arg(long, value_name = "RULES")]
    constraints: Option<String>,
    /// Sets a key of the config; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Holdout data in the same format: the model is measured on them, not trained.
    #[arg(long, value_name = "FILE", conflicts_with = "holdout_fraction")]
    holdout: Option<PathBuf>,
    /// The share of the sequences, drawn by the seed, to keep as holdout data.
    #[arg(long, value_name = "SHARE")]
    holdout_fraction: Option<f64>,
    /// Early stopping: iterations without improvement on the holdout data before stopping; the best
    /// weights are kept. Sets learner.patience.
    #[arg(long, value_name = "N")]
    patience: Option<u32>,
    /// The file for a trace: one line of JSON per iteration.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Starts from this model file: its features, labels, constraints and weights. Other
    /// --constraints replace its own; '{}' removes them.
    #[arg(long, value_name = "MODEL")]
    warm_start: Option<PathBuf>,
    /// Chooses a key's value by cross-validation, as in learner.l2=0.1,1,10; several keys make a
    /// grid.
    #[arg(long, value_name = "KEY=VALUES", conflicts_with = "warm_start")]
    tune: Vec<String>,
    /// Number of folds of the cross-validation; 5 if omitted.
    #[arg(long, value_name = "N")]
    folds: Option<u32>,
    /// The metric of the cross-validation: its name, or a table with its settings; `accuracy` if
    /// omitted.
    #[arg(long, value_name = "METRIC")]
    tune_by: Option<String>,
    /// Number of threads; all cores if omitted. The model does not depend on it.
    #[arg(long, value_name = "N", value_parser = thread_count)]
    threads: Option<NonZeroUsize>,
    /// The seed of all random numbers; 0 if omitted.
    #[arg(long, value_name = "N")]
    seed: Option<u32>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

/// Checks the config and the outputs, reads the data, tunes, trains, saves and prints a summary.
pub(crate) fn run(args: &TrainArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let request = load_config(args)?;
    let watched = request.watches_validation()?;
    if watched && args.holdout.is_none() && args.holdout_fraction.is_none() {
        let option = args.patience.map_or("learner.patience".to_owned(), |n| format!("--patience {n}"));
        return Err(Error::config(option, "needs holdout data: --holdout FILE or --holdout-fraction SHARE"));
    }
    let Request { training: mut config, candidates, templates } = request;
    if let (Some(start), Some(_)) = (&args.warm_start, &candidates) {
        let message = "its features were fitted on all data, so that they cannot be cross-validated";
        return Err(Error::config(format!("--warm-start {}", start.display()), message));
    }
    if let Some(share) = args.holdout_fraction.filter(|share| !(*share > 0.0 && *share < 1.0)) {
        return Err(Error::config(format!("--holdout-fraction {share}"), "must be between 0 and 1"));
    }
    let (inputs, trace_only) = inputs(args, templates.as_ref());
    let model = ("--model", &*args.model);
    let trace = args.trace.as_deref().map(|trace| ("--trace", trace));
    require_distinct(&[model], &inputs)?;
    require_distinct(trace.as_slice(), &[&inputs[..], trace_only.as_slice(), &[model]].concat())?;
    let start = args.warm_start.as_deref().map(ModelFile::load).transpose()?;
    if let Some(start) = &start {
        config = config.after(start.training()?);
    }
    let model_file = AtomicFile::new(&args.model)?;
    let mut trace = args.trace.as_deref().map(TraceFile::new).transpose()?;
    let threads = threads(args.threads);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get());
    let pool = pool.build().map_err(Error::format("threads"))?;

    let mut seconds = Seconds::default();
    let clock = Instant::now();
    let line = progress::line(&format!("reading {}", args.data.display()));
    let schema = start.as_ref().map(|start| start.contents.features.schema().clone());
    let (data, digest) = read_digest(&*config.format, &args.data, schema.as_ref())?;
    labels_are(&data, &args.data, "the model to start from")?;
    let in_data = |error| match error {
        Error::Core(error) => error.at(file_name(&args.data)).into(),
        other => other,
    };
    templates.filter(|_| start.is_none()).map_or(Ok(()), |templates| templates.check(&data))?;
    // Before the data are split, so that the indices of sequences are those of the file.
    obeys(&config, &data, &args.data)?;
    let (data, holdout) = split(args, &config, data)?;
    // A selector chooses among its candidates by validation data.
    let took_part = watched || !config.method.selector.keeps_all();
    if let (true, Some(file), Some(holdout)) = (took_part, &args.holdout, &holdout) {
        labels_are(holdout, file, "the training data, so that its likelihood cannot be watched")?;
        obeys(&config, holdout, file)?;
    }
    seconds.read = clock.elapsed().as_secs_f64();
    let trained =
        Trained { sequences: data.len(), positions: data.n_positions(), holdout_took_part: took_part };

    let tuning = candidates.map(|candidates| {
        let clock = Instant::now();
        let bar = progress::bar("tuning", candidates.points.len() * candidates.folds);
        let seed = Seed::new(config.seed);
        let tuning = tune(&candidates, &data, holdout.as_ref(), &seed, threads, &|| bar.inc(1));
        bar.finish_and_clear();
        let tuning = tuning.map_err(in_data)?;
        config = Training::read(&candidates.points[tuning.best()].1).map_err(Error::format("config"))?;
        seconds.tune = Some(clock.elapsed().as_secs_f64());
        Ok::<_, Error>(tuning)
    });
    let tuning = tuning.transpose()?;
    let mut observer = |iteration: &Iteration| {
        let Iteration { iteration: n, objective, gradient_norm, seconds, .. } = iteration;
        line.set_message(format!(
            "iteration {n}, objective {objective:.4}, gradient norm {gradient_norm:.4}, {seconds:.1} s"
        ));
        trace.as_mut().map_or(ControlFlow::Continue(()), |trace| trace.add(iteration))
    };
    line.set_message("making features");
    let file = pool.install(|| {
        train(config, Arc::new(data), holdout.clone(), start, digest, &mut seconds, &mut observer)
    });
    let file = file.map_err(in_data)?;
    line.finish_and_clear();
    trace.map_or(Ok(()), TraceFile::finish)?;
    let bytes = file.save_to(model_file)?;
    let decode = file.settings.decode;
    let holdout = holdout.map(|data| pool.install(|| Scores::new(&file, data, decode))).transpose()?;
    let summary = Summary::new(&file, (&args.model, bytes), trained, seconds, holdout, tuning);
    if args.json {
        print_json(&summary, out)?
    } else {
        summary.print(out)?
    }
    Ok(ExitCode::SUCCESS)
}

/// A file that a training reads, and what it is.
type Input<'a> = (&'static str, &'a Path);

/// The files that a training reads and must leave alone; and the model to start from, which the new
/// model may replace.
fn inputs<'a>(args: &'a TrainArgs, templates: Option<&'a Templates>) -> (Vec<Input<'a>>, Option<Input<'a>>) {
    let files = [
        ("the training data", Some(&*args.data)),
        ("the holdout data", args.holdout.as_deref()),
        ("the config", args.config.as_deref()),
        ("the template file", templates.map(|templates| &*templates.file)),
    ];
    let inputs = files.into_iter().filter_map(|(what, file)| Some((what, file?))).collect();
    (inputs, args.warm_start.as_deref().map(|start| ("the model to start from", start)))
}

/// The config file, overridden by the options.
fn load_config(args: &TrainArgs) -> Result<Request> {
    let mut flags = Vec::new();
    let mut flag = |option: String, key: &str, value| {
        flags.push(Override { option, path: KeyPath::new(key.split('.')), value });
    };
    let plugins = [
        ("--format", "format", &args.format),
        ("--learner", "learner", &args.learner),
        ("--features", "features", &args.features),
        ("--tune-by", "tune.by", &args.tune_by),
    ];
    for (option, key, text) in plugins {
        if let Some(text) = text {
            flag(format!("{option} {text}"), key, plugin(option, text)?);
        }
    }
    if let Some(text) = &args.template {
        let by_name = || Value::Table(Table::from_iter([("file".to_owned(), text.as_str().into())]));
        flag(format!("--template {text}"), "template", inline("--template", text)?.unwrap_or_else(by_name));
    }
    if let Some(text) = &args.constraints {
        flag(format!("--constraints {text}"), "constraints", constraints(text)?);
    }
    for (option, key, number) in [("--seed", "seed", args.seed), ("--folds", "tune.folds", args.folds)] {
        if let Some(number) = number {
            flag(format!("{option} {number}"), key, Value::Integer(number.into()));
        }
    }
    for text in &args.tune {
        let setting = Tune::option(text)?;
        if flags.iter().any(|flag| flag.path == setting.path) {
            return Err(Error::config(&setting.option, "the values of this key are given twice"));
        }
        flags.push(setting);
    }
    let mut settings = args.set.iter().map(|text| Override::parse(text)).collect::<Result<Vec<_>>>()?;
    // Set, not merged: only a learner with all its settings spelled out tells whether it has this
    // one.
    settings.extend(args.patience.map(|n| Override {
        option: format!("--patience {n}"),
        path: KeyPath::new(["learner", "patience"]),
        value: Value::Integer(n.into()),
    }));
    Training::load(args.config.as_deref(), &flags, &settings)
}

/// Fails at a label that is not in the schema of the data.
fn labels_are(data: &Dataset, file: &Path, whose: &str) -> Result<()> {
    let foreign = data.labels().iter().flatten().find(|&&label| Dataset::is_foreign(label));
    foreign.map_or(Ok(()), |&label| {
        let message = format!("the label `{}` is none of those of {whose}", data.label_name(0, label));
        Err(crf_core::Error::data(message).at(file_name(file)).into())
    })
}

/// Fails at a label that the constraints of the training forbid.
fn obeys(config: &Training, data: &Dataset, file: &Path) -> Result<()> {
    let forbidden = config.method.forbidden(data.schema());
    let checked = forbidden.and_then(|forbidden| forbidden.map_or(Ok(()), |rules| rules.check(data)));
    checked.map_err(|error| error.at(file_name(file)).into())
}

/// The training data and the holdout data.
fn split(args: &TrainArgs, config: &Training, data: Dataset) -> Result<(Dataset, Option<Arc<Dataset>>)> {
    if let Some(file) = &args.holdout {
        let holdout = config.format.read_file(file, Some(data.schema()))?;
        return Ok((data, Some(holdout.into())));
    }
    let Some(share) = args.holdout_fraction else { return Ok((data, None)) };
    let n_holdout = (share * data.len() as f64).round();
    if n_holdout == 0.0 || n_holdout as usize == data.len() {
        let message = format!("leaves {n_holdout} of {} sequences as holdout data", data.len());
        return Err(Error::config(format!("--holdout-fraction {share}"), message));
    }
    let mut order = data.shuffled(&Seed::new(config.seed).child("holdout"));
    let mut kept = order.split_off(n_holdout as usize);
    kept.sort_unstable();
    order.sort_unstable();
    Ok((data.subset(&kept), Some(Arc::new(data.subset(&order)))))
}
