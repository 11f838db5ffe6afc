use std::fmt;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use toml::{Table, Value};

/// The values of the sweep keys at one point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SweepValues(Vec<(String, Value)>);

impl SweepValues {
    /// These values and one more.
    pub fn with(&self, key: &str, value: &Value) -> Self {
        let mut settings = self.0.clone();
        settings.push((key.to_owned(), value.clone()));
        SweepValues(settings)
    }

    /// The keys and values in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// True if all keys in `at` have the values there.
    pub fn matches(&self, at: &Table) -> bool {
        at.iter().all(|(key, want)| self.get(key).is_some_and(|have| same(have, want)))
    }

    /// The values whose key passes a test.
    pub fn filter(&self, keep: impl Fn(&str) -> bool) -> Self {
        SweepValues(self.0.iter().filter(|(key, _)| keep(key)).cloned().collect())
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for SweepValues {
    /// `key = value, key = value`, with values as TOML writes them: part of a cell's seed, so it
    /// must never change.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (key, value)) in self.0.iter().enumerate() {
            write!(f, "{}{key} = {value}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl Serialize for SweepValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// True if two values are equal; 1 and 1.0 are.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

/// A value as a number, if it is one.
pub(crate) fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|value| value as f64))
}

/// The text of a value in tables and figures: strings without quotes, plugins without settings by
/// their name.
pub(crate) fn show(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Table(table) if table.len() == 1 => table.get("type").map_or_else(|| value.to_string(), show),
        _ => value.to_string(),
    }
}
