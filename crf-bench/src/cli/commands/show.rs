use std::io::Write;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use crf_core::plugin::named;
use crf_core::{Dataset, Error as CoreError, Query, Seed, Source};
use crf_datasets::{Csv, Format as _, Text};
use serde::{Deserialize, Serialize};
use toml::Value;

use crate::cli::options::format::{plugin, read_option};
use crate::cli::print_facts;
use crate::config::{ConfigFault, ConfigRoot, KeyPath, Override, set};
use crate::error::{Error, Result};
use crate::experiment::cell_digest::named_files;
use crate::model::file::ModelFile;
use crate::report::{Film, Thing};
use crate::support::atomic_file::{AtomicFile, require_distinct};

/// Draws a source with moving objects, such as `tag` or `soccer`, as an animated SVG.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask show tag
  cargo xtask show tag --set source.scheme=unconstrained --from 3000 --frames 1200 --out tag.svg
  cargo xtask show soccer --seed 2
  cargo xtask show tag --export tag.csv
  crf train --format '{type = \"csv\", sequence = \"game\"}' --data tag.csv --model tag.crf
  cargo xtask show tag --model tag.crf

An object is a pair of channels NAME.x and NAME.y. A ring marks the object that the true label names, a dashed ring the
one that the model names. The picture shows test data; --export writes training data.")]
pub struct ShowArgs {
    /// The source: its name, or a table with its settings.
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Sets a setting of the source; may be repeated.
    #[arg(long, value_name = "source.KEY=VALUE")]
    set: Vec<String>,
    /// The seed of all random numbers.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// The first frame to show, counted from 0.
    #[arg(long, value_name = "N", default_value = "0")]
    from: usize,
    /// Number of frames to show.
    #[arg(long, value_name = "N", default_value = "900")]
    frames: NonZeroUsize,
    /// Frames per second.
    #[arg(long, value_name = "N", default_value = "60")]
    rate: NonZeroUsize,
    /// The model file whose labels are shown beside the true ones.
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// The picture; SOURCE.svg if omitted.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also writes the training data of the same seed as CSV; the column `game` holds the sequence.
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
}

/// Draws the data and writes the picture.
pub(crate) fn run(args: &ShowArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let (source, name) = source(args)?;
    let picture = args.out.clone().unwrap_or_else(|| format!("{name}.svg").into());
    let outputs = [("--out", Some(&*picture)), ("--export", args.export.as_deref())];
    let outputs: Vec<_> = outputs.into_iter().filter_map(|(option, file)| Some((option, file?))).collect();
    let files = serde_json::to_value(&*source).map_err(Error::format("the source"))?;
    let files = named_files(&files);
    let files = files.iter().map(|file| ("a file of the source", &**file));
    let model = args.model.as_deref().map(|model| ("the model", model));
    require_distinct(&outputs, &files.chain(model).collect::<Vec<_>>())?;
    let picture_file = AtomicFile::new(&picture)?;
    let export = args.export.as_deref().map(AtomicFile::new).transpose()?;
    let data = source.load(&Seed::new(args.seed))?;
    if let Some(export) = export {
        let csv = Csv { sequence: Some("game".to_owned()), ..Csv::default() };
        export.write(|file| Ok(csv.write(&data.train, file)?))?;
    }
    let film = film(args, name, data.test)?;
    picture_file.write(|file| write!(file, "{}", film.svg().into_string()).map_err(Error::io(&picture)))?;
    let mut facts = vec![
        ("picture", picture.display().to_string()),
        ("frames", film.truth.len().to_string()),
        ("objects", film.things.len().to_string()),
    ];
    facts.extend(film.accuracy().map(|accuracy| ("accuracy in them", format!("{accuracy:.4}"))));
    print_facts(&facts, out)?;
    Ok(ExitCode::SUCCESS)
}

/// The requested source and its name.
fn source(args: &ShowArgs) -> Result<(Box<dyn Source>, String)> {
    let named = plugin("SOURCE", &args.source)?;
    let (_, mut config) = read_option::<OneSource>("source", "SOURCE", &args.source, named)?;
    for text in &args.set {
        config = set::<OneSource>(&config, &Override::parse(text)?)?;
    }
    let one = OneSource::read(&config).map_err(|message| Error::config("SOURCE", message))?;
    let name = one.source.typetag_name().to_owned();
    Ok((one.source, name))
}

/// The requested frames of the first sequence.
fn film(args: &ShowArgs, title: String, data: Dataset) -> Result<Film> {
    let labels = data.schema().labels().names().iter().map(str::to_owned).collect();
    let data = Arc::new(data.subset(&[0]));
    let x = data.sequence(0);
    if args.from >= x.len() {
        let message = format!("expected a frame below {}, got {}", x.len(), args.from);
        return Err(Error::config("--from", message));
    }
    let frames = args.from..x.len().min(args.from.saturating_add(args.frames.get()));
    let schema = data.schema();
    let things = schema.channels().iter().filter_map(|channel| {
        let name = channel.name.strip_suffix(".x")?;
        let (x_at, y_at) = (schema.channel(&channel.name).ok()?, schema.channel(&format!("{name}.y")).ok()?);
        let way = |channel: usize| x.real(channel)[frames.clone()].iter().copied();
        Some(Thing { name: name.to_owned(), way: way(x_at).zip(way(y_at)).collect() })
    });
    let things: Vec<Thing> = things.collect();
    if things.is_empty() {
        let message = "the source has no objects to show: expected channels `NAME.x` and `NAME.y`";
        return Err(Error::config(format!("show {title}"), message));
    }
    let names = |label: &Option<u32>| label.map(|label| data.label_name(0, label).to_owned());
    let truth = x.labels()[frames.clone()].iter().map(names).collect();
    let predicted = match &args.model {
        Some(path) => Some(answers(&ModelFile::load(path)?, &data)?[frames].to_vec()),
        None => None,
    };
    Ok(Film { title, rate: args.rate.get(), things, labels, truth, predicted })
}

/// The labels that a model gives to a sequence.
///
/// The data pass through the model's own format, so that channels and labels get the model's
/// indices.
fn answers(file: &ModelFile, data: &Dataset) -> Result<Vec<String>> {
    let format = &*file.settings.format;
    let schema = file.contents.features.schema();
    let mut bytes = Vec::new();
    let mut read = None;
    format.write(data, &mut bytes)?;
    format.read(Text::new("the source's data", &mut &bytes[..]), Some(schema), usize::MAX, &mut |data| {
        read = Some(data);
        Ok(ControlFlow::Continue(()))
    })?;
    let data = Arc::new(read.ok_or_else(|| CoreError::data("the model's format holds no sequence"))?);
    let answers = file.predict(&file.contents.features.encode(data)?, Query::Labels(file.settings.decode))?;
    let names = answers.iter().flat_map(|answer| &answer.labels);
    Ok(names.map(|&label| schema.labels().name(label).to_owned()).collect())
}

/// A config that holds only a source.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneSource {
    #[serde(deserialize_with = "named")]
    source: Box<dyn Source>,
}

impl ConfigRoot for OneSource {
    fn check(&self, config: &Value) -> Result<(), ConfigFault> {
        let path = KeyPath::new(["source"]);
        self.source.check().map_err(|error| ConfigFault::plugin(path, &error, config))
    }
}
