use crf_core::{Error, hint};
use toml::Value;

use super::KeyPath;

/// The half of an entry that a message points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOrValue {
    /// The key is wrong.
    Key,
    /// The value is wrong.
    Value,
}

/// An error at a path of the config, before its location in a file is known.
#[derive(Debug)]
pub struct ConfigFault {
    /// The path of the wrong entry.
    pub path: KeyPath,
    /// The wrong half of the entry.
    pub side: KeyOrValue,
    /// The reason.
    pub message: String,
}

impl ConfigFault {
    pub(crate) fn value(path: KeyPath, message: impl ToString) -> Self {
        ConfigFault { path, side: KeyOrValue::Value, message: message.to_string() }
    }

    pub(crate) fn key(path: KeyPath, message: impl ToString) -> Self {
        ConfigFault { path, side: KeyOrValue::Key, message: message.to_string() }
    }

    /// The same fault with the path of a parent in front.
    pub(crate) fn below(self, parent: &KeyPath) -> Self {
        ConfigFault { path: parent.join(&self.path), ..self }
    }

    /// The fault of a value at `path` that is none of the `known` names.
    pub(crate) fn unknown(path: KeyPath, what: &str, name: &str, known: &[impl AsRef<str>]) -> Self {
        ConfigFault::value(path, format!("unknown {what} `{name}`{}", hint(name, known)))
    }

    /// The fault of serde's message about the entry at `path`.
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

    /// The fault of an error of the plugin at `path`; the path of the wrong setting is found in
    /// `config`.
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
