use crf_core::{Error, hint};
use toml::Value;

use super::KeyPath;

/// Whether a message points to a key or to its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOrValue {
    /// The key is wrong.
    Key,
    /// The value is wrong.
    Value,
}

/// Something wrong at a path of the config, before its place in a file is known.
#[derive(Debug)]
pub struct ConfigFault {
    /// The wrong entry.
    pub path: KeyPath,
    /// Which half of it.
    pub side: KeyOrValue,
    /// What is wrong with it.
    pub message: String,
}

impl ConfigFault {
    pub(crate) fn value(path: KeyPath, message: impl ToString) -> Self {
        ConfigFault { path, side: KeyOrValue::Value, message: message.to_string() }
    }

    pub(crate) fn key(path: KeyPath, message: impl ToString) -> Self {
        ConfigFault { path, side: KeyOrValue::Key, message: message.to_string() }
    }

    /// The same fault seen from further up.
    pub(crate) fn below(self, parent: &KeyPath) -> Self {
        ConfigFault { path: parent.join(&self.path), ..self }
    }

    /// A name that is none of `known`, at the value of `path`.
    pub(crate) fn unknown(path: KeyPath, what: &str, name: &str, known: &[impl AsRef<str>]) -> Self {
        ConfigFault::value(path, format!("unknown {what} `{name}`{}", hint(name, known)))
    }

    /// What serde says about the entry at `path`.
    pub(crate) fn serde(path: KeyPath, message: &str) -> Self {
        let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let named_by_key = || path.steps().last().map(String::as_str) == quoted.first().copied();
        for (theirs, ours) in [("unknown field", "unknown key"), ("unknown variant", "unknown name")] {
            if message.starts_with(theirs) && !quoted.is_empty() {
                let side = if named_by_key() { KeyOrValue::Key } else { KeyOrValue::Value };
                let message = format!("{ours} `{}`{}", quoted[0], hint(quoted[0], &quoted[1..]));
                return ConfigFault { path, side, message };
            }
        }
        ConfigFault::value(path, super::document::one_line(message))
    }

    /// What the `check` of the plugin at `path` says; `config` tells where its setting stands.
    pub(crate) fn plugin(path: KeyPath, error: &Error, config: &Value) -> Self {
        let setting = match error {
            Error::Setting { key, got, .. } => find_setting(config, &path, key, got),
            _ => None,
        };
        ConfigFault::value(setting.unwrap_or(path), error)
    }
}

/// The entry `key` below `path`, the one with the value `got` if there are several.
fn find_setting(config: &Value, path: &KeyPath, key: &str, got: &str) -> Option<KeyPath> {
    let mut found: Vec<KeyPath> = Vec::new();
    let mut open = std::collections::VecDeque::from([path.clone()]);
    while let Some(path) = open.pop_front() {
        match path.get(config)? {
            Value::Table(table) => {
                found.extend(table.contains_key(key).then(|| path.child(key)));
                open.extend(table.keys().map(|name| path.child(name)));
            }
            Value::Array(array) => open.extend((0..array.len()).map(|i| path.child(i))),
            _ => {}
        }
    }
    let exact = found.iter().position(|path| path.get(config).is_some_and(|value| value.to_string() == got));
    (!found.is_empty()).then(|| found.swap_remove(exact.unwrap_or(0)))
}
