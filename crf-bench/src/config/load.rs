//! Reading an experiment file: presets and defaults are expanded, then the quick table and the
//! command line override it.

use std::path::{Path, PathBuf};

use crf_core::nearest;
use toml::Value;

use super::plan::Plan;
use super::presets;
use super::{ConfigFault, Experiment, KeyPath, Override};
use crate::error::{Error, Result};
use crate::located_toml::Document;
use crate::located_toml::merge;
use crate::located_toml::{ConfigRoot, Refused, try_value};

/// Reads an experiment file; `quick` merges its `quick` table into it, and `settings` override
/// both.
///
/// All errors that can be found before a run are found here, with their location. The quick variant
/// is always checked.
pub fn load(file: &Path, quick: bool, settings: &[Override]) -> Result<Plan> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| {
        let files = experiment_files(Path::new("experiments"));
        let near = nearest(&name, files.iter().filter_map(|file| file.to_str()));
        let hint = near.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default();
        Error::config(&name, format!("{error}{hint}"))
    })?;
    parse(&name, &text, quick, settings)
}

/// [`load`] for a text; `name` stands for the file in messages.
pub fn parse(name: &str, text: &str, quick: bool, settings: &[Override]) -> Result<Plan> {
    let document = Document::parse(name, text)?;
    let mut config = document.value.clone();
    presets::expand(&mut config).map_err(|fault| located(&document, fault, false, &[]))?;
    let over = KeyPath::new(["quick"]).remove(&mut config);
    share(&document, &mut config)?;
    let mut plan = Plan::new(&config, true).map_err(|fault| located(&document, fault, false, &[]))?;
    if let Some(over) = over {
        let mut config = plan.config.clone();
        match (&mut config, &over) {
            (Value::Table(config), Value::Table(over)) => merge(config, over),
            _ => return Err(no_table(&document, "quick")),
        }
        let small = Plan::new(&config, false).map_err(|fault| located(&document, fault, true, &[]))?;
        plan = if quick { Plan { quick, ..small } } else { plan };
    }
    if settings.is_empty() {
        return Ok(plan);
    }
    let Plan { mut config, quick: is_quick, .. } = plan;
    for setting in settings {
        config = set::<Experiment>(&config, setting)?;
    }
    let plan = Plan::new(&config, false).map_err(|fault| located(&document, fault, quick, settings))?;
    let options = settings.iter().map(|setting| setting.option.clone()).collect();
    Ok(Plan { quick: is_quick, options, ..plan })
}

/// Merges the table `defaults` under every method.
fn share(document: &Document, config: &mut Value) -> Result<()> {
    let Some(defaults) = KeyPath::new([DEFAULTS]).remove(config) else { return Ok(()) };
    let Value::Table(defaults) = defaults else { return Err(no_table(document, DEFAULTS)) };
    let methods = config.get_mut("methods").and_then(Value::as_table_mut);
    for method in methods.into_iter().flat_map(|methods| methods.iter_mut().map(|(_, method)| method)) {
        if let Value::Table(own) = method {
            let own = std::mem::replace(own, defaults.clone());
            method.as_table_mut().into_iter().for_each(|all| merge(all, &own));
        }
    }
    Ok(())
}

/// The table of settings that all methods share.
const DEFAULTS: &str = "defaults";

fn no_table(document: &Document, key: &str) -> Error {
    let location = document.location(&KeyPath::new([key]), super::KeyOrValue::Value);
    Error::config(location, format!("`{key}` must be a table"))
}

/// The config with one setting of the command line.
pub(crate) fn set<C: ConfigRoot>(config: &Value, setting: &Override) -> Result<Value> {
    try_value::<C>(config, &setting.path, &setting.value).map_err(|refused| {
        let (Refused::Key(message) | Refused::Value(message)) = refused;
        Error::config(&setting.option, message)
    })
}

/// The error for a fault, at the location of its entry: an option, a line of the quick table, or a
/// line of the file.
pub(super) fn located(document: &Document, fault: ConfigFault, quick: bool, settings: &[Override]) -> Error {
    let ConfigFault { path, side, message } = fault;
    let is_set = |setting: &&Override| path.steps().starts_with(setting.path.steps());
    if let Some(setting) = settings.iter().rev().find(is_set) {
        return Error::config(&setting.option, message);
    }
    let over = KeyPath::new(["quick"]).join(&path);
    let shared = match path.steps() {
        [methods, _, rest @ ..] if methods == "methods" => KeyPath::new([DEFAULTS]).join(&KeyPath::new(rest)),
        _ => path.clone(),
    };
    let named = |path: &KeyPath| presets::origin(&document.value, path);
    let path = match () {
        () if quick && document.contains(&over) => over,
        () if !document.contains(&path) && named(&path).or_else(|| named(&shared)).is_some() => {
            named(&path).or_else(|| named(&shared)).unwrap_or(path)
        }
        () if !document.contains(&path) && document.contains(&shared) => shared,
        () => path,
    };
    Error::config(document.location(&path, side), message)
}

/// All experiment files below a directory, in order of their paths.
pub fn experiment_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            files.extend(experiment_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    files
}
