//! The plan of an experiment: its config with all defaults, and the points of its sweep.

use crf_core::{Source, require_memory};
use toml::{Table, Value};

use super::grid::Grid;
use super::verify;
use super::{ConfigFault, Experiment, KeyPath, Method, SweepValues};
use crate::located_toml::ConfigRoot as _;

/// A checked experiment with all points of its sweep: nothing can be wrong with its config any
/// more.
#[derive(Debug)]
pub struct Plan {
    /// The experiment.
    pub experiment: Experiment,
    /// The config with all defaults spelled out; it runs to the same results.
    pub config: Value,
    /// The points of the sweep; one point without settings if there is no sweep.
    pub points: Vec<SweepPoint>,
    /// True for the quick variant of the file, which shows that everything runs and judges no
    /// claim.
    pub quick: bool,
    /// The options of the command line that override the file.
    pub options: Vec<String>,
}

/// One point of the sweep.
#[derive(Debug)]
pub struct SweepPoint {
    /// The values of the sweep keys.
    pub settings: SweepValues,
    /// The source of the data with these values.
    pub dataset: Box<dyn Source>,
    /// The methods with these values.
    pub methods: Vec<(String, Method)>,
}

impl Plan {
    /// Reads and checks a config, which is without its `quick` table.
    pub(crate) fn new(config: &Value, strict: bool) -> Result<Self, ConfigFault> {
        let (experiment, config) = Experiment::read_located(config)?;
        verify::settings(&experiment, &config)?;
        let points = points(&experiment.sweep, &config)?;
        verify::names(&experiment, strict)?;
        let n_cells = (experiment.methods.len() * points.len()) as f64 * f64::from(experiment.trials);
        require_memory(
            n_cells * CELL,
            &format!("a run of {n_cells} cells"),
            "take fewer trials, points or methods",
        )
        .map_err(|error| ConfigFault::value(KeyPath::new(["trials"]), error))?;
        Ok(Plan { experiment, config, points, quick: false, options: Vec::new() })
    }
}

/// The bytes that a cell takes at least, with its digest and its metrics.
const CELL: f64 = 400.0;

/// The points of the sweep.
fn points(sweep: &Table, config: &Value) -> Result<Vec<SweepPoint>, ConfigFault> {
    let path = KeyPath::new(["sweep"]);
    let grid = Grid {
        called: "a sweep",
        path: path.clone(),
        lists: sweep,
        over: &["dataset", "methods"],
        least: (1, "one value"),
    };
    let point = |(settings, config)| {
        let read = Experiment::read(&config).map_err(|message| ConfigFault::value(path.clone(), message))?;
        Ok(SweepPoint { settings, dataset: read.dataset, methods: read.methods })
    };
    grid.points::<Experiment>(config)?.into_iter().map(point).collect()
}
