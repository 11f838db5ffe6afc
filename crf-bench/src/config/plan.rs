use crf_core::Source;
use toml::{Table, Value};

use super::readable::{Readable as _, Refused, try_value};
use super::verify;
use super::{Experiment, Fault, KeyPath, Method, Settings};

/// An experiment with all its sweep points made out: nothing can be wrong with its config any more.
#[derive(Debug)]
pub struct Plan {
    /// What is asked for.
    pub experiment: Experiment,
    /// The same as a config with all defaults spelled out; it runs to the same results.
    pub config: Value,
    /// Where the sweep stops; a single point without settings if there is no sweep.
    pub points: Vec<Point>,
}

/// One point of the sweep.
#[derive(Debug)]
pub struct Point {
    /// The values of the sweep's keys.
    pub settings: Settings,
    /// The source of the data with these values.
    pub dataset: Box<dyn Source>,
    /// The methods with these values.
    pub methods: Vec<(String, Method)>,
}

impl Plan {
    /// Makes a plan of a config without its `quick` table.
    pub(crate) fn new(config: &Value, strict: bool) -> Result<Self, Fault> {
        let (experiment, config) = Experiment::read_located(config)?;
        verify::settings(&experiment, &config)?;
        let points = points(&experiment.sweep, &config)?;
        verify::names(&experiment, strict)?;
        Ok(Plan { experiment, config, points })
    }
}

/// The product of all lists of the sweep, the first key changing slowest.
fn points(sweep: &Table, config: &Value) -> Result<Vec<Point>, Fault> {
    let root = KeyPath::of(["sweep"]);
    let mut product = vec![(Settings::default(), config.clone())];
    for (key, values) in sweep {
        let here = root.child(key);
        let path = KeyPath::parse(key).map_err(|message| Fault::key(here.clone(), message))?;
        if !matches!(path.steps()[0].as_str(), "dataset" | "methods") {
            let message = format!("a sweep goes over settings of `dataset` and `methods`, not `{key}`");
            return Err(Fault::key(here, message));
        }
        let Some(values) = values.as_array().filter(|values| !values.is_empty()) else {
            let message = format!("a sweep needs a list of at least one value, got {values}");
            return Err(Fault::value(here, message));
        };
        for (i, value) in values.iter().enumerate() {
            try_value::<Experiment>(config, &path, value).map_err(|refused| match refused {
                Refused::Key(message) => Fault::key(here.clone(), message),
                Refused::Value(message) => Fault::value(here.child(i), message),
            })?;
            if values[..i].contains(value) {
                return Err(Fault::value(here.child(i), format!("the value {value} is listed twice")));
            }
        }
        let longer = product.iter().flat_map(|(settings, config)| {
            values.iter().map(|value| {
                let mut config = config.clone();
                path.set(&mut config, value.clone());
                (settings.with(key, value), config)
            })
        });
        product = longer.collect();
    }
    let point = |(settings, config): (Settings, Value)| {
        let whole = |message: String| Fault::value(root.clone(), format!("{settings}: {message}"));
        let experiment = Experiment::read(&config).map_err(whole)?;
        experiment.check(&config).map_err(|fault| whole(fault.message))?;
        let Experiment { dataset, methods, .. } = experiment;
        Ok(Point { settings, dataset, methods })
    };
    product.into_iter().map(point).collect()
}
