//! The manual of a plugin, derived from the plugin itself: its schema, its defaults, and the values
//! it refuses.

use crf_core::{Error as CoreError, Plugin};
use serde_json::Value as Json;
use toml::{Table, Value};

use crate::catalogue::example::example;
use crate::catalogue::kind::{Kind, Refused};
use crate::config::KeyPath;
use crate::error::Result;

/// One setting of a plugin, as `crf explain` prints it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key; those of inner tables are dotted.
    pub key: String,
    /// The type of its values in words.
    pub takes: String,
    /// The default; `None` for a setting that must be given.
    pub default: Option<String>,
    /// The range of values that the plugin accepts, in its own words.
    pub range: Option<String>,
    /// The documentation.
    pub doc: String,
}

/// The whole documentation of a plugin.
pub fn documentation(plugin: &Plugin) -> String {
    doc((plugin.schema)().as_value())
}

/// All settings of a plugin, in the order of its struct.
pub fn entries(kind: Kind, plugin: &Plugin) -> Result<Vec<Entry>> {
    let schema = (plugin.schema)();
    let mut example = example(plugin)?;
    // A plugin that can be read by its name alone has all its defaults; others need the example.
    let defaults = kind.read(&kind.bare(plugin.tag)).ok();
    if let Some(defaults) = &defaults {
        example = defaults.clone();
    }
    let manual = Manual { kind, tag: plugin.tag, root: schema.as_value(), example, defaults };
    let mut entries = Vec::new();
    manual.list(schema.as_value(), &KeyPath::default(), &mut entries);
    Ok(entries)
}

struct Manual<'a> {
    kind: Kind,
    tag: &'a str,
    root: &'a Json,
    /// A valid config.
    example: Table,
    defaults: Option<Table>,
}

impl Manual<'_> {
    fn list(&self, table: &Json, above: &KeyPath, entries: &mut Vec<Entry>) {
        for (key, schema) in table["properties"].as_object().into_iter().flatten() {
            let path = above.child(key);
            let inner = self.resolved(schema);
            let required = table["required"].as_array().is_some_and(|keys| keys.iter().any(|k| k == key));
            if inner["properties"].is_object() {
                self.list(inner, &path, entries);
                continue;
            }
            let doc = if schema["description"].is_string() { doc(schema) } else { doc(inner) };
            let known = self.defaults.clone().and_then(|mut table| self.get(&mut table, &path));
            let default = match known {
                Some(value) => Some(value.to_string()),
                None if required => None,
                None => Some(toml_text(&schema["default"]).unwrap_or_else(|| "unset".to_owned())),
            };
            let takes = self.takes(schema);
            entries.push(Entry {
                key: path.to_string(),
                takes,
                default,
                range: self.range(inner, &path),
                doc,
            });
        }
    }

    /// A schema with references resolved, and without the null of optional settings.
    fn resolved<'s>(&'s self, schema: &'s Json) -> &'s Json {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.trim_start_matches("#/$defs/");
            return self.resolved(&self.root["$defs"][name]);
        }
        let options = ["anyOf", "oneOf", "allOf"].into_iter().find_map(|key| schema[key].as_array());
        let mut options = options.into_iter().flatten().filter(|option| option["type"] != "null");
        match (options.next(), options.next()) {
            (Some(only), None) => self.resolved(only),
            _ => schema,
        }
    }

    fn takes(&self, schema: &Json) -> String {
        if names_a_plugin(schema) {
            return "a plugin".to_owned();
        }
        let schema = self.resolved(schema);
        let options = schema["oneOf"].as_array().or(schema["anyOf"].as_array()).into_iter().flatten();
        let mut words: Vec<String> = options
            .flat_map(|option| match option["enum"].as_array() {
                Some(values) => values.iter().filter_map(toml_text).collect(),
                None => vec![toml_text(&option["const"]).unwrap_or_else(|| self.takes(option))],
            })
            .collect();
        words.extend(schema["enum"].as_array().into_iter().flatten().filter_map(toml_text));
        if !words.is_empty() {
            words.dedup();
            return words.join(" or ");
        }
        let kinds: Vec<&str> = match &schema["type"] {
            Json::Array(several) => several.iter().filter_map(Json::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        let kind = kinds.into_iter().find(|kind| *kind != "null").unwrap_or("anything");
        match kind {
            "integer" => "a whole number".to_owned(),
            "number" => "a number".to_owned(),
            "boolean" => "true or false".to_owned(),
            "string" => "a text".to_owned(),
            "object" => "a table".to_owned(),
            "array" => format!("a list, each {}", self.takes(&schema["items"])),
            other => other.to_owned(),
        }
    }

    /// The range of a number: what the plugin demands when it refuses probes.
    fn range(&self, schema: &Json, path: &KeyPath) -> Option<String> {
        let is = |name: &str| match &schema["type"] {
            Json::Array(several) => several.iter().any(|kind| kind == name),
            one => one == name,
        };
        let probes: Vec<Value> = match () {
            () if is("integer") => [0, 1, 2, 1_i64 << 40].map(Value::from).to_vec(),
            () if is("number") => [-1.0, 0.0, 0.5, 1.0, 2.0, 1e9].map(Value::from).to_vec(),
            () => return None,
        };
        let mut wants: Vec<String> = Vec::new();
        for probe in probes {
            let mut config = self.example.clone();
            let settings = self.kind.settings(&mut config, self.tag)?;
            let mut root = Value::Table(std::mem::take(settings));
            path.set(&mut root, probe);
            *self.kind.settings(&mut config, self.tag)? = root.as_table()?.clone();
            let want = match self.kind.read(&config) {
                Err(Refused::Settings(error)) => wanted(&error, path),
                _ => None,
            };
            wants.extend(want.filter(|want| !wants.contains(want)));
        }
        (!wants.is_empty()).then(|| wants.join(", "))
    }

    fn get(&self, config: &mut Table, path: &KeyPath) -> Option<Value> {
        let settings = self.kind.settings(config, self.tag)?;
        path.get(&Value::Table(settings.clone())).cloned()
    }
}

/// True if a schema stands for a plugin within a plugin.
pub(crate) fn names_a_plugin(schema: &Json) -> bool {
    let is_named = |schema: &Json| schema["$ref"] == "#/$defs/Named";
    is_named(schema) || schema["anyOf"].as_array().is_some_and(|options| options.iter().any(is_named))
}

/// The demand of an error on the setting at `path`.
fn wanted(error: &CoreError, path: &KeyPath) -> Option<String> {
    match error {
        CoreError::Setting { key, want, .. } => (path.steps().last() == Some(key)).then(|| want.clone()),
        CoreError::At { source, .. } => wanted(source, path),
        _ => None,
    }
}

fn doc(schema: &Json) -> String {
    schema["description"].as_str().unwrap_or_default().to_owned()
}

/// A value of a schema as a config spells it.
fn toml_text(value: &Json) -> Option<String> {
    Value::try_from(value).ok().map(|value| value.to_string())
}
