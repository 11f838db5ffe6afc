use crf_core::hint;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use super::locate::locate;
use super::{ConfigFault, KeyOrValue, KeyPath};

/// The root of a config: it can be read, checked, and written again with all defaults.
pub(crate) trait ConfigRoot: Serialize + DeserializeOwned {
    /// Checks the settings of every plugin; `config` is the value that was read, for paths of
    /// faults.
    fn check(&self, config: &Value) -> Result<(), ConfigFault>;

    /// Reads a config; the error is the message of serde, without a location.
    fn read(config: &Value) -> Result<Self, String> {
        Self::deserialize(config.clone()).map_err(|error| error.message().to_owned())
    }

    /// The config with all defaults spelled out.
    fn resolved(&self) -> Result<Value, String> {
        Value::try_from(self).map_err(|error| error.to_string())
    }

    /// Reads a config and returns it also with all defaults; an error has the path of its entry.
    fn read_located(config: &Value) -> Result<(Self, Value), ConfigFault> {
        let read = Self::read(config).map_err(|message| {
            let path = locate(config, &message, &|config| Self::read(config).map(drop));
            ConfigFault::serde(path, &message)
        })?;
        let resolved = read.resolved().map_err(|message| ConfigFault::value(KeyPath::default(), message))?;
        Ok((read, resolved))
    }
}

/// The reason why a value cannot be set in a config.
pub(crate) enum Refused {
    /// The key is unknown.
    Key(String),
    /// The key does not take this value.
    Value(String),
}

/// The config with another value at `path`, if the key is known and takes the value.
///
/// Tables above the key that the config leaves out are made.
pub(crate) fn try_value<C: ConfigRoot>(
    config: &Value,
    path: &KeyPath,
    value: &Value,
) -> Result<Value, Refused> {
    let known = path.get(config).is_some();
    let Some(changed) = with_value(config, path, value) else { return Err(unknown(config, path)) };
    let read = match C::read(&changed) {
        Ok(read) => read,
        Err(message) => {
            let fault = ConfigFault::serde(path.clone(), &message);
            // An omitted optional setting is not in the config, so only the attempt can tell.
            let is_below = path.existing(config).steps().len() + 1 == path.steps().len();
            let is_key = !known && is_below && fault.side == KeyOrValue::Key;
            // Serde names the last key only, and knows those that the config leaves out.
            let hint = fault.message.split_once('`').and_then(|(_, rest)| rest.split_once('`'));
            return Err(match hint {
                Some((_, hint)) if is_key => Refused::Key(format!("unknown key `{path}`{hint}")),
                // A table that was made for the key would need more than the key.
                _ if !known && !is_below && message.starts_with("missing field") => unknown(config, path),
                _ => Refused::Value(fault.message),
            });
        }
    };
    read.check(&changed).map_err(|fault| Refused::Value(fault.message))?;
    let resolved = read.resolved().map_err(Refused::Value)?;
    // A value that a config omits, such as an empty list, is not in the resolved one either. A key
    // that takes any nonsense is one that nobody reads.
    let strange = Table::from_iter([("no such key".to_owned(), Value::Array(Vec::new()))]);
    let is_read = known
        || path.get(&resolved).is_some()
        || [Value::Boolean(true), Value::Integer(-1), Value::Table(strange)].iter().any(|nonsense| {
            with_value(config, path, nonsense).is_some_and(|changed| C::read(&changed).is_err())
        });
    if is_read { Ok(resolved) } else { Err(unknown(config, path)) }
}

/// The config with a value at a path below one of its tables.
fn with_value(config: &Value, path: &KeyPath, value: &Value) -> Option<Value> {
    let n_existing = path.existing(config).steps().len();
    let (first, below) = path.steps().split_at(path.steps().len().min(n_existing + 1));
    let within = |value, step: &String| Value::Table(Table::from_iter([(step.clone(), value)]));
    let value = below.iter().rev().fold(value.clone(), within);
    let mut changed = config.clone();
    KeyPath::new(first).set(&mut changed, value).then_some(changed)
}

/// The refusal of a key that nobody knows.
fn unknown(config: &Value, path: &KeyPath) -> Refused {
    let parent = path.existing(config);
    Refused::Key(match (parent.get(config), path.steps().get(parent.steps().len())) {
        (Some(Value::Table(table)), Some(missing)) => {
            let known: Vec<&String> = table.keys().collect();
            format!("unknown key `{path}`{}", hint(missing, &known))
        }
        _ => format!("unknown key `{path}`: `{parent}` has no keys below it"),
    })
}
