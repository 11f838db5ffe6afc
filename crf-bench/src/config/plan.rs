use crf_core::{Source, hint};
use toml::{Table, Value};

use super::verify::{self, plugins};
use super::{Experiment, Fault, KeyPath, Method, Settings};
use crate::config::culprit::culprit;

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
        let experiment = Experiment::read(config).map_err(|message| {
            let path = culprit(config, &message, &|config| Experiment::read(config).map(drop));
            Fault::serde(path, &message)
        })?;
        let config = experiment.resolved().map_err(|message| Fault::value(KeyPath::default(), message))?;
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
            try_value(config, &path, value).map_err(|refused| match refused {
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
        plugins(&experiment, &config).map_err(|fault| whole(fault.message))?;
        let Experiment { dataset, methods, .. } = experiment;
        Ok(Point { settings, dataset, methods })
    };
    product.into_iter().map(point).collect()
}

/// Why a value cannot be put into a config.
pub(crate) enum Refused {
    /// There is no such key.
    Key(String),
    /// The key does not take this value.
    Value(String),
}

/// The config with another value at `path`, if the path is known and takes the value.
pub(crate) fn try_value(config: &Value, path: &KeyPath, value: &Value) -> Result<Value, Refused> {
    let unknown = || {
        let there = path.existing(config);
        match there.get(config) {
            Some(Value::Table(table)) => {
                let (known, missing): (Vec<&String>, _) =
                    (table.keys().collect(), &path.steps()[there.steps().len()]);
                Refused::Key(format!("unknown key `{path}`{}", hint(missing, &known)))
            }
            _ => Refused::Key(format!("unknown key `{path}`: `{there}` has no keys below it")),
        }
    };
    let known = path.get(config).is_some();
    let mut changed = config.clone();
    if !path.set(&mut changed, value.clone()) {
        return Err(unknown());
    }
    let experiment = match Experiment::read(&changed) {
        Ok(experiment) => experiment,
        // An optional setting that is left out has no place in the config, so only the attempt can tell.
        Err(message) if !known && message.starts_with("unknown") => return Err(unknown()),
        Err(message) => return Err(Refused::Value(Fault::serde(path.clone(), &message).message)),
    };
    plugins(&experiment, &changed).map_err(|fault| Refused::Value(fault.message))?;
    let resolved = experiment.resolved().map_err(Refused::Value)?;
    if path.get(&resolved).is_none() { Err(unknown()) } else { Ok(resolved) }
}
