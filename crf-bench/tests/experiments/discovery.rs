//! The toolkit's descriptions of itself: plugins with their settings, the schema of experiments,
//! and costs.

use std::path::{Path, PathBuf};

use crate::command::crf;
use crf_bench::config::{experiment_files, schema};
use crf_bench::{Entry, Kind, entries};
use crf_core::Plugin;
use serde_json::Value;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The settings of a plugin by their keys.
fn entry(kind: &str, tag: &str, key: &str) -> Entry {
    let kind = Kind::named(kind).expect("a kind");
    let entries = entries(kind, kind.plugin(tag).expect("a plugin")).expect("its settings");
    let found = entries.iter().find(|entry| entry.key == key);
    found.unwrap_or_else(|| panic!("no `{key}` in {entries:#?}")).clone()
}

#[test]
fn settings_are_told_by_the_plugin_itself() {
    let l2 = entry("learner", "mle", "l2");
    assert_eq!((l2.takes.as_str(), l2.default.as_deref()), ("a number", Some("0.0")));
    assert!(l2.range.expect("a range").contains("at least 0") && l2.doc.contains("‖w‖²"));
    let damping = entry("inference", "belief-propagation", "damping");
    assert!(damping.range.is_some(), "what it refuses is its range: {damping:?}");
    assert_eq!(entry("source", "file", "train").default, None, "what must be given has no default");
    assert_eq!(entry("source", "file", "format").takes, "a plugin");
    assert_eq!(entry("prototype", "threshold", "test").takes, "\"above\" or \"below\" or \"both\"");
    assert_eq!(entry("claim", "better", "method").default, None);
}

#[test]
fn every_plugin_is_explained() {
    for plugin in Plugin::all() {
        let text = crf(&["explain", plugin.kind, plugin.tag]).expect("an explanation");
        assert!(
            text.starts_with(&format!("{} `{}`", plugin.kind, plugin.tag)) && text.contains("Example:"),
            "{text}"
        );
        let undocumented = entries(Kind::named(plugin.kind).expect("a kind"), plugin).expect("settings");
        let undocumented = undocumented.iter().find(|entry| entry.doc.is_empty());
        assert!(undocumented.is_none(), "{} {}: {undocumented:?}", plugin.kind, plugin.tag);
    }
    let error = crf(&["explain", "learner", "mel"]).expect_err("a typo");
    assert_eq!(error, "explain: unknown learner `mel`, did you mean `mle`?");
    let error = crf(&["explain", "learnr", "mle"]).expect_err("a typo");
    assert_eq!(error, "explain: unknown kind `learnr`, did you mean `learner`?");
}

/// The first thing in which a value breaks a schema; as much of JSON Schema as ours uses.
fn fault(schema: &Value, root: &Value, value: &Value, place: &str) -> Option<String> {
    let inner =
        |schema: &Value, value: &Value, key: &str| fault(schema, root, value, &format!("{place}.{key}"));
    if let Some(name) = schema["$ref"].as_str() {
        let referred =
            root.pointer(name.trim_start_matches('#')).unwrap_or_else(|| panic!("{name} leads nowhere"));
        return fault(referred, root, value, place);
    }
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("unknown type {other}"),
    };
    let kinds: Vec<&str> = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is(kind)) {
        return Some(format!("{place} is no {kinds:?}"));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        return Some(format!("{place} is not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|values| !values.contains(value)) {
        return Some(format!("{place} is not in {}", schema["enum"]));
    }
    // The only pattern is that of presets.
    if let (Some(pattern), Some(text)) = (schema["pattern"].as_str(), value.as_str()) {
        assert_eq!(pattern, "^@", "{place}");
        if !text.starts_with('@') {
            return Some(format!("{place} does not match {pattern}"));
        }
    }
    for options in ["anyOf", "oneOf"].iter().filter_map(|key| schema[key].as_array()) {
        let faults: Vec<String> =
            options.iter().map_while(|option| fault(option, root, value, place)).collect();
        if faults.len() == options.len() {
            return Some(format!("{place}: {}", faults.join("; ")));
        }
    }
    let items = value.as_array().into_iter().flatten().enumerate();
    if let Some(fault) = items.filter_map(|(i, item)| inner(&schema["items"], item, &i.to_string())).next() {
        return Some(fault);
    }
    let (object, properties) = (value.as_object()?, &schema["properties"]);
    let missing = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(key) = missing.into_iter().find(|key| !object.contains_key(*key)) {
        return Some(format!("{place} has no `{key}`"));
    }
    object.iter().find_map(|(key, value)| match (properties.get(key), &schema["additionalProperties"]) {
        (Some(schema), _) => inner(schema, value, key),
        (None, Value::Bool(false)) => Some(format!("{place} has an unknown `{key}`")),
        (None, Value::Object(_)) => inner(&schema["additionalProperties"], value, key),
        _ => None,
    })
}

#[test]
fn the_schema_takes_all_experiments_and_no_typo() {
    let (schema, mut texts) = (schema(), Vec::new());
    let read =
        |text: &str| serde_json::to_value(toml::from_str::<toml::Table>(text).expect("TOML")).expect("JSON");
    for file in experiment_files(&here("../experiments")) {
        let text = std::fs::read_to_string(&file).expect("a file");
        assert_eq!(fault(&schema, &schema, &read(&text), "file"), None, "{}", file.display());
        texts.push(text);
    }
    let text = texts.iter().find(|text| text.contains("A first comparison")).expect("the quickstart");
    for (right, wrong) in [
        ("trials = 10", "trial = 10"),
        ("trials = 10", "trials = \"ten\""),
        ("type = \"mle\"", "type = \"mel\""),
        ("l2 = 0.1", "l3 = 0.1"),
        ("l2 = 0.1", "l2 = \"much\""),
        ("falls = {", "fells = {"),
        ("along =", "alon ="),
        ("{ state = \"value\" }", "{ stat = \"value\" }"),
        ("\"log-likelihood\"]", "\"likelihood\"]"),
        ("[figure]", "[figures]"),
    ] {
        assert!(text.contains(right), "{right}");
        let broken = read(&text.replacen(right, wrong, 1));
        assert!(fault(&schema, &schema, &broken, "file").is_some(), "{wrong}");
    }
}

#[test]
fn a_check_tells_the_cost_and_runs_nothing() {
    let file = here("../experiments/quickstart.toml");
    let file = file.to_str().expect("UTF-8");
    let said = crf(&["check", file]).expect("a right file");
    assert!(said.contains("right; 80 cells at 4 points in 10 trials, about"), "{said}");
    assert!(said.contains("| CRF"), "{said}");
    let error = crf(&["check", file, "--set", "methods.CRF.learner.l2=-1"]).expect_err("out of range");
    assert!(error.contains("`l2` must be") && error.contains("got -1"), "{error}");
}
