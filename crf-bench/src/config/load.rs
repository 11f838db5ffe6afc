use std::path::{Path, PathBuf};

use crf_core::nearest;
use toml::Value;

use super::document::Document;
use super::overlay::merge;
use super::plan::Plan;
use super::readable::{Readable, Refused, try_value};
use super::{Experiment, Fault, KeyPath, Setting};
use crate::error::{Error, Result};

/// Reads an experiment file, with its `quick` table laid over it if asked, and `settings` over both.
///
/// Everything that can be known to be wrong is refused here, with its place; the quick variant is always
/// checked.
pub fn load(file: &Path, quick: bool, settings: &[Setting]) -> Result<Plan> {
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
pub fn parse(name: &str, text: &str, quick: bool, settings: &[Setting]) -> Result<Plan> {
    let document = Document::parse(name, text)?;
    let mut config = document.value.clone();
    let over = KeyPath::of(["quick"]).remove(&mut config);
    let mut plan = Plan::new(&config, true).map_err(|fault| placed(&document, fault, false, &[]))?;
    if let Some(over) = over {
        let mut config = plan.config.clone();
        match (&mut config, &over) {
            (Value::Table(config), Value::Table(over)) => merge(config, over),
            _ => {
                return Err(Error::config(
                    document.place(&KeyPath::of(["quick"]), super::Side::Value),
                    "`quick` must be a table",
                ));
            }
        }
        let small = Plan::new(&config, false).map_err(|fault| placed(&document, fault, true, &[]))?;
        plan = if quick { small } else { plan };
    }
    if settings.is_empty() {
        return Ok(plan);
    }
    let mut config = plan.config;
    for setting in settings {
        config = set::<Experiment>(&config, setting)?;
    }
    Plan::new(&config, false).map_err(|fault| placed(&document, fault, quick, settings))
}

/// The config with a setting of the command line.
pub(crate) fn set<C: Readable>(config: &Value, setting: &Setting) -> Result<Value> {
    try_value::<C>(config, &setting.path, &setting.value).map_err(|refused| {
        let (Refused::Key(message) | Refused::Value(message)) = refused;
        Error::config(&setting.option, message)
    })
}

/// The fault with the place of its entry: an option, a line of the quick table, or a line of the file.
pub(super) fn placed(document: &Document, fault: Fault, quick: bool, settings: &[Setting]) -> Error {
    let Fault { path, side, message } = fault;
    let is_set = |setting: &&Setting| path.steps().starts_with(setting.path.steps());
    if let Some(setting) = settings.iter().rev().find(is_set) {
        return Error::config(&setting.option, message);
    }
    let over = KeyPath::of(["quick"]).join(&path);
    let path = if quick && document.contains(&over) { over } else { path };
    Error::config(document.place(&path, side), message)
}

/// All experiment files in a directory and those below it, in order of their names.
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
