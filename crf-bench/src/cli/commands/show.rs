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
use crate::model::file::ModelFile;
use crate::report::{Film, Thing};
use crate::support::atomic_file::{AtomicFile, require_distinct};

/// Shows a source whose objects move, such as `tag` or `soccer`, as an animated SVG for the browser.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask show tag
  cargo xtask show tag --set source.scheme=unconstrained --from 3000 --frames 1200 --out tag.svg
  cargo xtask show soccer --seed 2
  cargo xtask show tag --export tag.csv
  crf train --format '{type = \"csv\", sequence = \"game\"}' --data tag.csv --model tag.crf
  cargo xtask show tag --model tag.crf

The objects are those that have channels NAME.x and NAME.y. A ring is around the object that the true label names, and a
dashed one around the one that the model names. The test data are shown; what a model is trained on is exported.")]
pub struct ShowArgs {
    /// The source, by name or as a table with its settings.
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Another value for a setting of the source.
    #[arg(long, value_name = "source.KEY=VALUE")]
    set: Vec<String>,
    /// Where all random numbers come from.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// The first frame to show, counted from 0.
    #[arg(long, value_name = "N", default_value = "0")]
    from: usize,
    /// How many frames to show.
    #[arg(long, value_name = "N", default_value = "900")]
    frames: NonZeroUsize,
    /// How many frames are shown in a second.
    #[arg(long, value_name = "N", default_value = "60")]
    rate: NonZeroUsize,
    /// A model whose labels are shown beside the true ones.
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// The picture; SOURCE.svg unless given.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also writes the training data of the same seed, as CSV with a column `game` that tells sequences apart.
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
}

/// Draws the data and writes the picture.
pub(crate) fn run(args: &ShowArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let (source, name) = source(args)?;
    let picture = args.out.clone().unwrap_or_else(|| format!("{name}.svg").into());
    let outputs = [("--out", Some(&*picture)), ("--export", args.export.as_deref())];
    let outputs: Vec<_> = outputs.into_iter().filter_map(|(option, file)| Some((option, file?))).collect();
    let model = args.model.as_deref().map(|model| ("the model", model));
    require_distinct(&outputs, model.as_slice())?;
    let (draft, export) =
        (AtomicFile::new(&picture)?, args.export.as_deref().map(AtomicFile::new).transpose()?);
    let data = source.load(&Seed::new(args.seed))?;
    if let Some(export) = export {
        let csv = Csv { sequence: Some("game".to_owned()), ..Csv::default() };
        export.write(|file| Ok(csv.write(&data.train, file)?))?;
    }
    let film = film(args, name, data.test)?;
    draft.write(|file| write!(file, "{}", film.svg().into_string()).map_err(Error::io(&picture)))?;
    let mut facts = vec![
        ("picture", picture.display().to_string()),
        ("frames", film.truth.len().to_string()),
        ("objects", film.things.len().to_string()),
    ];
    facts.extend(film.accuracy().map(|accuracy| ("accuracy in them", format!("{accuracy:.4}"))));
    print_facts(&facts, out)?;
    Ok(ExitCode::SUCCESS)
}

/// The source that is asked for, and its name.
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

/// What is to be seen of the first sequence.
fn film(args: &ShowArgs, title: String, data: Dataset) -> Result<Film> {
    let labels = data.schema().labels().names().iter().map(str::to_owned).collect();
    let data = Arc::new(data.subset(&[0]));
    let x = data.sequence(0);
    if args.from >= x.len() {
        let message = format!("expected a frame below {}, got {}", x.len(), args.from);
        return Err(Error::config("--from", message));
    }
    let frames = args.from..x.len().min(args.from + args.frames.get());
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
/// The data pass through the model's own format, so that channels and labels get the numbers that it knows.
fn answers(file: &ModelFile, data: &Dataset) -> Result<Vec<String>> {
    let (format, schema) = (&*file.serving.format, file.content.features.schema());
    let (mut bytes, mut read) = (Vec::new(), None);
    format.write(data, &mut bytes)?;
    format.read(Text::new("the source's data", &mut &bytes[..]), Some(schema), usize::MAX, &mut |data| {
        read = Some(data);
        Ok(ControlFlow::Continue(()))
    })?;
    let data = Arc::new(read.ok_or_else(|| CoreError::data("the model's format holds no sequence"))?);
    let answers = file.predict(&file.content.features.encode(data)?, Query::Labels(file.serving.decode))?;
    let names = answers.iter().flat_map(|answer| &answer.labels);
    Ok(names.map(|&label| schema.labels().name(label).to_owned()).collect())
}

/// A config that is nothing but a source.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneSource {
    #[serde(deserialize_with = "named")]
    source: Box<dyn Source>,
}

impl ConfigRoot for OneSource {
    fn check(&self, config: &Value) -> Result<(), ConfigFault> {
        let path = KeyPath::of(["source"]);
        self.source.check().map_err(|error| ConfigFault::plugin(path, &error, config))
    }
}
