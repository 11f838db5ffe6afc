//! The JSON Schema of experiment files, for editors; the parts about plugins come from the plugins'
//! own schemas.

use crf_core::Plugin;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::Experiment;
use crate::catalogue::kind::Kind;
use crate::catalogue::manual::names_a_plugin;

/// Placeholders for plugins of a kind in derived schemas.
macro_rules! kinds {
    ($($name:ident = $kind:literal),*) => {$(
        pub(super) struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $kind.into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "$ref": concat!("#/$defs/", $kind) })
            }
        }
    )*};
}

kinds!(
    AnyClaim = "claim",
    AnyFeature = "feature",
    AnyInference = "inference",
    AnyLearner = "learner",
    AnyMetric = "metric",
    AnySelector = "selector",
    AnySource = "source"
);

/// The schema of a sweep: a table of lists.
pub(super) type Lists = std::collections::BTreeMap<String, Vec<Value>>;

/// The schema of experiment files with all plugins that are linked.
pub fn schema() -> Value {
    let mut root = schemars::schema_for!(Experiment).to_value();
    let mut whole = root["$defs"].take();
    let mut method = whole["Method"].clone();
    method["required"] = json!([]);
    let defs = whole.as_object_mut().cloned().unwrap_or_default();
    let kinds = Kind::ALL.iter().map(|kind| (kind.name.to_owned(), of_kind(kind)));
    let defs: Map<String, Value> = defs.into_iter().chain(kinds).chain([feature()]).collect();
    root["$defs"] = Value::Object(defs);
    let properties = &mut root["properties"];
    properties["defaults"] = method;
    properties["defaults"]["description"] =
        "Settings of all methods; a method's own settings override them.".into();
    let presets = "Named pieces of the file: `\"@name\"` stands for the piece `name`.";
    properties["presets"] = json!({ "type": "object", "description": presets });
    let quick = "Settings that a quick run overrides.";
    properties["quick"] = json!({ "type": "object", "description": quick });
    // A method may leave common settings to `defaults`.
    root["$defs"]["Method"]["required"] = json!([]);
    root
}

fn feature() -> (String, Value) {
    let table = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "state": { "$ref": "#/$defs/prototype" },
            "transition": { "$ref": "#/$defs/prototype" },
            "kind": { "type": "string" },
            "relation": { "type": "string" },
            "pairs": { "enum": ["all", "observed"] },
        },
    });
    ("feature".to_owned(), json!({ "anyOf": [{ "enum": ["intercept", "transition", "start"] }, table] }))
}

/// The schema of any plugin of a kind: its name, or a table with its `type`. A claim is a text and
/// a table below its name.
fn of_kind(kind: &Kind) -> Value {
    if kind.name == "claim" {
        let claims = kind.plugins().map(|plugin| (plugin.tag.to_owned(), settings(plugin)));
        let text =
            ("text".to_owned(), json!({ "type": "string", "description": "The sentence in the report." }));
        let properties: Map<String, Value> = [text].into_iter().chain(claims).collect();
        return json!({
            "type": "object", "properties": properties, "required": ["text"], "additionalProperties": false,
            "minProperties": 2, "maxProperties": 2,
        });
    }
    let names: Vec<&str> = kind.plugins().map(|plugin| plugin.tag).collect();
    let tables = kind.plugins().map(|plugin| {
        let mut table = settings(plugin);
        let description = table["description"].clone();
        table["properties"]["type"] = json!({ "const": plugin.tag, "description": description });
        let required = table["required"].as_array().cloned().unwrap_or_default();
        table["required"] = [vec!["type".into()], required].concat().into();
        table
    });
    let preset =
        json!({ "type": "string", "pattern": "^@", "description": "The name of a piece in `presets`." });
    let options: Vec<Value> = [json!({ "enum": names }), preset].into_iter().chain(tables).collect();
    json!({ "anyOf": options })
}

/// The schema of a plugin's settings, with all references resolved.
fn settings(plugin: &Plugin) -> Value {
    let mut schema = (plugin.schema)().to_value();
    let defs = schema["$defs"].take();
    if let Some(schema) = schema.as_object_mut() {
        ["$defs", "$schema", "title"].iter().for_each(|key| drop(schema.remove(*key)));
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    in_place(&mut schema, &defs);
    for (_, setting) in schema["properties"].as_object_mut().into_iter().flatten() {
        let one = setting.take();
        let each = json!({
            "type": "object", "properties": { "each": { "type": "array", "items": one } }, "required": ["each"],
            "additionalProperties": false, "description": "In an element of a list: one element for each value.",
        });
        *setting = json!({ "anyOf": [one, each] });
        if let Some(description) = one.get("description") {
            setting["description"] = description.clone();
        }
    }
    schema
}

fn in_place(schema: &mut Value, defs: &Value) {
    if names_a_plugin(schema) {
        let description = schema["description"].take();
        *schema = json!({ "type": ["string", "object", "null"], "description": description });
        return;
    }
    let referred = schema["$ref"].as_str().map(|name| defs[name.trim_start_matches("#/$defs/")].clone());
    if let (Some(Value::Object(referred)), Value::Object(own)) = (referred, &mut *schema) {
        own.remove("$ref");
        for (key, value) in referred {
            own.entry(key).or_insert(value);
        }
    }
    match schema {
        Value::Object(object) => object.values_mut().for_each(|value| in_place(value, defs)),
        Value::Array(array) => array.iter_mut().for_each(|value| in_place(value, defs)),
        _ => {}
    }
}
