//! Feature lists in configs: every short and long form, and the errors for slips.
use crf_core::{Features, Link};
use crf_testing::datasets::features;

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Config {
    features: Features,
}

/// Feature list with all defaults spelled out.
fn resolved(list: &str) -> String {
    serde_json::to_string(&features(list)).unwrap()
}

const FORMS: &[(&str, &str)] = &[
    (r#""intercept""#, r#"{"state":{"type":"one"}}"#),
    (r#""transition""#, r#"{"transition":{"type":"one"}}"#),
    (r#""start""#, r#"{"state":{"type":"first"}}"#),
    (r#"{ state = "value" }"#, r#"{"state":{"type":"value","channels":[]}}"#),
    (r#"{ state = { type = "value", channels = ["x"] } }"#, r#"{"state":{"type":"value","channels":["x"]}}"#),
    (r#"{ state = "one", kind = "noun" }"#, r#"{"state":{"type":"one"},"kind":"noun"}"#),
    (r#"{ transition = "one", relation = "next" }"#, r#"{"transition":{"type":"one"},"relation":"next"}"#),
    (
        r#"{ transition = { type = "lag", of = "equals" } }"#,
        r#"{"transition":{"type":"lag","by":[1],"of":{"type":"equals","channels":[],"symbols":[]}}}"#,
    ),
    (
        r#"{ state = { type = "power", of = { type = "window", over = "any" } } }"#,
        r#"{"state":{"type":"power","degrees":[2],"of":{"type":"window","before":1,"after":0,"over":"any","of":{"type":"value","channels":[]}}}}"#,
    ),
    (
        r#"{ state = { type = "conjunction", of = ["first", { type = "threshold" }] } }"#,
        r#"{"state":{"type":"conjunction","of":[{"type":"first"},{"type":"threshold","at":[0.0],"quantiles":0,"test":"above","of":{"type":"value","channels":[]}}],"most":1000000}}"#,
    ),
];

#[test]
fn every_form_resolves_to_a_table_with_all_defaults() {
    for (short, full) in FORMS {
        assert_eq!(resolved(&format!("[{short}]")), format!("[{full}]"));
    }
    assert_eq!(resolved("[]"), "[]");
}

#[test]
fn every_form_survives_toml_and_json() {
    let list = FORMS.iter().map(|form| form.0).collect::<Vec<_>>().join(", ");
    let read: Config = toml::from_str(&format!("features = [{list}]")).unwrap();
    let json = serde_json::to_string(&read).unwrap();
    let from_json: Config = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&from_json).unwrap(), json);
    let text = toml::to_string(&read).unwrap();
    let from_toml: Config = toml::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&from_toml).unwrap(), json);
    let value: toml::Value = toml::from_str(&text).unwrap();
    let from_value: Config = value.try_into().unwrap();
    assert_eq!(serde_json::to_string(&from_value).unwrap(), json);
}

#[test]
fn json_has_the_same_short_forms() {
    let read: Features =
        serde_json::from_str(r#"["start", {"state": "value"}, {"transition": {"type": "lag"}}]"#).unwrap();
    assert_eq!(
        serde_json::to_string(&read).unwrap(),
        resolved(r#"["start", { state = "value" }, { transition = { type = "lag" } }]"#)
    );
}

#[test]
fn links_carry_their_kind_or_relation() {
    let list =
        features(r#"["intercept", { state = "one", kind = "k" }, { transition = "one", relation = "r" }]"#);
    let links: Vec<&Link> = list.0.iter().map(|spec| &spec.link).collect();
    let want = [Link::State(None), Link::State(Some("k".into())), Link::Transition(Some("r".into()))];
    assert_eq!(links, want.iter().collect::<Vec<_>>());
}

#[test]
fn slips_are_answered_with_what_would_do() {
    let refused = |form: &str, message: &str| {
        let error = toml::from_str::<Config>(&format!("features = [{form}]")).unwrap_err();
        assert!(error.message().starts_with(message), "{form}: {}", error.message());
    };
    refused(
        r#""intercpt""#,
        "unknown variant `intercpt`, expected one of `intercept`, `transition`, `start`",
    );
    refused(
        r#"{ state = "valeu" }"#,
        "unknown variant `valeu`, expected one of `attributes`, `conjunction`, `equals`, `first`",
    );
    refused(r#"{ state = { type = "valeu" } }"#, "unknown variant `valeu`, expected one of");
    refused(r#"{ state = { type = "lag", of = "valeu" } }"#, "unknown variant `valeu`, expected one of");
    refused(r#"{ stat = "value" }"#, "unknown field `stat`, expected one of `state`, `transition`");
    refused(r#"{ state = { type = "lag", bye = [1] } }"#, "unknown field `bye`, expected `by` or `of`");
    refused(r#"{ state = { channels = ["x"] } }"#, "missing field `type`");
    let either = "a feature has either `state` (with an optional `kind`) or `transition` (with an optional `relation`)";
    refused(r#"{ state = "one", transition = "one" }"#, either);
    refused(r#"{ state = "one", relation = "next" }"#, either);
    refused(r#"{ transition = "one", kind = "label" }"#, either);
    refused("{}", either);
    refused(
        "3",
        "invalid type: integer `3`, expected a feature: `intercept`, `transition`, `start`, or a table",
    );
}

#[test]
fn checks_reach_every_prototype() {
    let list = features(r#"["intercept", { transition = { type = "lag", by = [] } }]"#);
    assert_eq!(list.check().unwrap_err().to_string(), "`by` must be a list of at least one lag, got []");
}
