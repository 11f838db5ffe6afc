use crf_core::Source;
use toml::{Table, Value};

use super::grid::Grid;
use super::verify;
use super::{ConfigFault, Experiment, KeyPath, Method, SweepValues};
use crate::located_toml::ConfigRoot as _;

/// An experiment with all its sweep points made out: nothing can be wrong with its config any more.
#[derive(Debug)]
pub struct Plan {
    /// What is asked for.
    pub experiment: Experiment,
    /// The same as a config with all defaults spelled out; it runs to the same results.
    pub config: Value,
    /// Where the sweep stops; a single point without settings if there is no sweep.
    pub points: Vec<SweepPoint>,
    /// Whether it is the small variant of its file, which shows that all runs and judges nothing.
    pub quick: bool,
    /// Options of the command line that set other values than those of the file.
    pub options: Vec<String>,
}

/// One point of the sweep.
#[derive(Debug)]
pub struct SweepPoint {
    /// The values of the sweep's keys.
    pub settings: SweepValues,
    /// The source of the data with these values.
    pub dataset: Box<dyn Source>,
    /// The methods with these values.
    pub methods: Vec<(String, Method)>,
}

impl Plan {
    /// Makes a plan of a config without its `quick` table.
    pub(crate) fn new(config: &Value, strict: bool) -> Result<Self, ConfigFault> {
        let (experiment, config) = Experiment::read_located(config)?;
        verify::settings(&experiment, &config)?;
        let points = points(&experiment.sweep, &config)?;
        verify::names(&experiment, strict)?;
        Ok(Plan { experiment, config, points, quick: false, options: Vec::new() })
    }
}

/// Where the sweep stops.
fn points(sweep: &Table, config: &Value) -> Result<Vec<SweepPoint>, ConfigFault> {
    let place = KeyPath::of(["sweep"]);
    let grid = Grid {
        called: "a sweep",
        place: place.clone(),
        lists: sweep,
        over: &["dataset", "methods"],
        least: (1, "one value"),
    };
    let point = |(settings, config)| {
        let read = Experiment::read(&config).map_err(|message| ConfigFault::value(place.clone(), message))?;
        Ok(SweepPoint { settings, dataset: read.dataset, methods: read.methods })
    };
    grid.points::<Experiment>(config)?.into_iter().map(point).collect()
}
