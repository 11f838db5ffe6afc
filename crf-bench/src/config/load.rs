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
use crate::support::folders::FilesBelow;

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
    let files = FilesBelow::new(directory).paths;
    let files =
        files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.map(|below| directory.join(below)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Training;

    /// The paths of all entries of a config; of lists only the first element and the tables.
    fn paths(value: &Value, path: &KeyPath, found: &mut Vec<KeyPath>) {
        let below: Vec<(String, &Value)> = match value {
            Value::Table(table) => table.iter().map(|(key, value)| (key.clone(), value)).collect(),
            Value::Array(array) => {
                array.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect()
            }
            _ => Vec::new(),
        };
        for (step, value) in below {
            let path = path.child(step);
            found.push(path.clone());
            paths(value, &path, found);
        }
    }

    /// Sets every entry of a config to the value that it has, as an option would.
    fn takes_its_own_values<C: ConfigRoot>(name: &str, config: &Value) {
        let mut all = Vec::new();
        paths(config, &KeyPath::default(), &mut all);
        for path in all {
            let text = format!("{path}={}", path.get(config).expect("an entry"));
            let setting = Override::parse(&text).expect("a setting");
            let after = set::<C>(config, &setting).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(&after, config, "{name}: {text}");
        }
    }

    fn experiments() -> Vec<(String, Value)> {
        let files = experiment_files(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../experiments")));
        assert!(files.len() > 20);
        let load =
            |file: &PathBuf| (file.display().to_string(), load(file, false, &[]).expect("a plan").config);
        files.iter().map(load).collect()
    }

    #[test]
    fn every_key_of_every_experiment_takes_the_value_that_it_has() {
        for (name, config) in experiments() {
            takes_its_own_values::<Experiment>(&name, &config);
        }
    }

    #[test]
    fn every_key_that_may_be_left_out_takes_its_default() {
        let mut n_set = 0;
        for (name, config) in experiments() {
            let mut keys = ["path=[]", "published=[]", "figure.densities=[]"].map(str::to_owned).to_vec();
            for (method, _) in config["methods"].as_table().expect("methods") {
                let path = KeyPath::new(["methods", method, "selector"]);
                keys.extend([format!("{path}=none"), format!("{path}={{ type = \"none\" }}")]);
            }
            let n_published = config.get("published").and_then(Value::as_array).map_or(0, Vec::len);
            keys.extend((0..n_published).map(|i| format!("published.{i}.at={{}}")));
            let claims = config["claims"].as_array().into_iter().flatten().enumerate();
            for (i, claim) in claims {
                let kinds = claim.as_table().expect("a claim").keys().filter(|key| *key != "text");
                keys.extend(kinds.map(|kind| format!("claims.{i}.{kind}.at={{}}")));
            }
            for key in keys {
                let setting = Override::parse(&key).expect("a setting");
                match set::<Experiment>(&config, &setting) {
                    Ok(after) => {
                        n_set += 1;
                        assert_ne!(setting.path.get(&after), Some(&Value::Boolean(true)), "{name}: {key}");
                    }
                    // Some claims are about all points and have no such key; the path of candidates
                    // and the selector depend on each other.
                    Err(error) => {
                        let message = error.to_string();
                        assert!(message.contains("unknown key `claims"), "{name}: {message}");
                    }
                }
            }
        }
        assert!(n_set > 200, "{n_set}");
    }

    #[test]
    fn every_key_of_a_training_takes_the_value_that_it_has() {
        for text in [
            "format = \"crfsuite\"",
            "format = \"csv\"\nseed = 3\nfeatures = [\"intercept\", { state = \"value\" }]\nconstraints = \"bio\"",
            "format = \"conll\"\nlearner = \"gradient-tree-boosting\"\nselector = \"l1-path\"",
        ] {
            let config = toml::from_str(text).map(Value::Table).expect("TOML");
            let (_, config) = Training::read_located(&config).expect("a training");
            takes_its_own_values::<Training>(text, &config);
        }
    }

    #[test]
    fn a_key_below_a_table_that_is_left_out_can_be_set() {
        let config = toml::from_str("format = \"conll\"").map(Value::Table).expect("TOML");
        let (_, config) = Training::read_located(&config).expect("a training");
        let set = |text: &str| set::<Training>(&config, &Override::parse(text).expect("a setting"));
        let after = set("constraints.scheme=bio").expect("a key");
        assert_eq!(after["constraints"]["scheme"].as_str(), Some("bio"));
        for (text, said) in [
            ("constraints.schema=bio", "unknown key `schema`, did you mean `scheme`?"),
            ("constrains.scheme=bio", "unknown key `constrains`, did you mean `constraints`?"),
            ("constrains=bio", "unknown key `constrains`, did you mean `constraints`?"),
            ("seed.low=1", "unknown key `seed.low`: `seed` has no keys below it"),
        ] {
            let message = set(text).expect_err(text).to_string();
            assert!(message.contains(said), "{text}: {message}");
        }
    }
}
