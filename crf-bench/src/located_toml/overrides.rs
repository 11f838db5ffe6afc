//! Values from the command line, and merging of tables.

use toml::{Table, Value};

use super::KeyPath;
use crate::error::{Error, Result};

/// A value from the command line for one key of a config.
#[derive(Debug, Clone)]
pub struct Override {
    /// The option as it was written, for messages.
    pub option: String,
    /// The key.
    pub path: KeyPath,
    /// The value.
    pub value: Value,
}

impl Override {
    /// Reads `key=value`; a value that is not TOML is a string.
    pub fn parse(text: &str) -> Result<Self> {
        let option = format!("--set {text}");
        let (path, value) = KeyPath::split(text).map_err(|message| Error::config(&option, message))?;
        let value = match toml::from_str::<Table>(&format!("value = {}", value.trim())) {
            Ok(mut table) if table.len() == 1 => table.remove("value"),
            _ => None,
        }
        .unwrap_or_else(|| Value::String(value.to_owned()));
        Ok(Override { option, path, value })
    }
}

/// Merges a table into another: tables are merged, everything else is replaced.
///
/// A plugin's table that names another `type` replaces the old plugin with all its settings.
pub(crate) fn merge(base: &mut Table, over: &Table) {
    for (key, new) in over {
        match (base.get_mut(key), new) {
            (Some(Value::Table(old)), Value::Table(new))
                if new.get("type").is_none_or(|tag| old.get("type") == Some(tag)) =>
            {
                merge(old, new);
            }
            _ => {
                base.insert(key.clone(), new.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_toml_or_else_a_string() {
        let value = |text: &str| Override::parse(text).expect("a setting").value;
        assert_eq!(value("a=3"), Value::Integer(3));
        assert_eq!(value("a = [1, 2]").as_array().map(Vec::len), Some(2));
        assert_eq!(value("a=mle"), Value::String("mle".into()));
        assert_eq!(value("a=1\nb=2"), Value::String("1\nb=2".into()));
    }

    #[test]
    fn tables_merge_unless_they_name_another_plugin() {
        let table = |text: &str| text.parse::<Table>().expect("TOML");
        let base = table("a = { type = \"x\", one = 1, two = 2 }\nlist = [1, 2]");
        let merged = |over: &str| {
            let mut base = base.clone();
            merge(&mut base, &table(over));
            base
        };
        assert_eq!(merged("a = { one = 3 }")["a"], table("a = { type = \"x\", one = 3, two = 2 }")["a"]);
        assert_eq!(merged("a = { type = \"y\" }")["a"], table("a = { type = \"y\" }")["a"]);
        assert_eq!(merged("list = [3]")["list"], table("list = [3]")["list"]);
    }
}
