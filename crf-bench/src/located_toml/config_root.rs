use crf_core::hint;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::Value;

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
pub(crate) fn try_value<C: ConfigRoot>(
    config: &Value,
    path: &KeyPath,
    value: &Value,
) -> Result<Value, Refused> {
    let unknown = || {
        let parent = path.existing(config);
        match parent.get(config) {
            Some(Value::Table(table)) => {
                let (known, missing): (Vec<&String>, _) =
                    (table.keys().collect(), &path.steps()[parent.steps().len()]);
                Refused::Key(format!("unknown key `{path}`{}", hint(missing, &known)))
            }
            _ => Refused::Key(format!("unknown key `{path}`: `{parent}` has no keys below it")),
        }
    };
    let known = path.get(config).is_some();
    let mut changed = config.clone();
    if !path.set(&mut changed, value.clone()) {
        return Err(unknown());
    }
    let read = match C::read(&changed) {
        Ok(read) => read,
        Err(message) => {
            let fault = ConfigFault::serde(path.clone(), &message);
            // An omitted optional setting is not in the config, so only the attempt can tell.
            let is_key = !known && fault.side == KeyOrValue::Key;
            return Err(if is_key { unknown() } else { Refused::Value(fault.message) });
        }
    };
    read.check(&changed).map_err(|fault| Refused::Value(fault.message))?;
    let resolved = read.resolved().map_err(Refused::Value)?;
    if path.get(&resolved).is_none() { Err(unknown()) } else { Ok(resolved) }
}
