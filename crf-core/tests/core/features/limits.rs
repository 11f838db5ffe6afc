//! Limits that are said before the stack or the memory ends.
use crf_core::prototypes::{Lag, RawValue};
use crf_core::{
    Alphabet, Channel, Constrained, Constraints, Dataset, DatasetBuilder, Encoder, Features, Label,
    LogLinear, Model, Prototype, Schema, Value,
};
use crf_testing::cases;
use crf_testing::datasets::{Sharing, features, labelled, random_corpus, real, symbolic};
use proptest::prelude::*;

fn data(channels: Vec<Channel>, values: &[Value<'_>], n_labels: usize) -> Dataset {
    let labels = (0..n_labels).map(|y| format!("y{y}"));
    let mut data = DatasetBuilder::new(Schema::chain(channels, Alphabet::new(labels)).unwrap().into());
    for t in 0..3 {
        data.push(values, Some(t % n_labels as Label)).unwrap();
    }
    data.end_chain().unwrap();
    data.finish()
}

fn nested(depth: usize) -> String {
    (0..depth).fold("\"value\"".to_owned(), |of, _| format!(r#"{{"type":"lag","of":{of}}}"#))
}

#[test]
fn prototypes_within_each_other_are_refused_before_the_stack_ends() {
    let read = |depth: usize| {
        let of: Result<Features, _> = serde_json::from_str(&format!(r#"[{{"state":{}}}]"#, nested(depth)));
        of.map_err(|error| error.to_string())
    };
    for depth in [16, 20, 58, 100] {
        let error = read(depth).unwrap_err();
        assert!(error.contains("more than 16 plugins within each other"), "{depth}: {error}");
    }
    // What can be trained can be read again.
    let data = data(vec![real("x")], &[Value::Real(1.5)], 2);
    let fitted = read(15).unwrap().fit(&data).unwrap();
    let stored = serde_json::to_string(&fitted).unwrap();
    assert!(serde_json::from_str::<crf_core::FittedFeatures>(&stored).is_ok());
    // A refusal leaves no level behind.
    assert!(read(15).is_ok());
}

#[test]
fn prototypes_of_rust_within_each_other_are_refused_before_the_stack_ends() {
    let data = data(vec![real("x")], &[Value::Real(1.5)], 2);
    let lags = |depth: usize| {
        let of: Box<dyn Prototype> = Box::new(RawValue::default());
        (0..depth).fold(of, |of, _| Box::new(Lag { by: vec![1], of }))
    };
    assert!(lags(16).fit(&data).is_ok());
    for depth in [17, 1000] {
        let error = lags(depth).fit(&data).unwrap_err().to_string();
        assert_eq!(error, "more than 16 plugins within each other");
    }
}

#[test]
fn stored_encoders_and_models_within_each_other_are_refused_before_the_stack_ends() {
    let data = data(vec![real("x")], &[Value::Real(1.5)], 2);
    let encoder = RawValue::default().fit(&data).unwrap();
    let mut stored = serde_json::to_value(&encoder).unwrap();
    for _ in 0..60 {
        let of = serde_json::json!({ "encoder": stored, "len": 1, "constants": [] });
        stored = serde_json::json!({ "type": "lag", "by": [1], "of": of });
    }
    let error = serde_json::from_value::<Box<dyn Encoder>>(stored).unwrap_err().to_string();
    assert!(error.contains("more than 16 plugins within each other"), "{error}");

    let labels = labelled(&["a", "b"], &["a b"]);
    let fitted = features(r#"["intercept"]"#).fit(&labels).unwrap();
    let forbidden = Constraints::default().resolve(labels.schema()).unwrap();
    let map = std::sync::Arc::new(fitted.candidates().unwrap());
    let mut model: Box<dyn Model> = Box::new(LogLinear::new(map, vec![0.0; 2]).unwrap());
    for _ in 0..20 {
        model = Box::new(Constrained::new(model, forbidden.clone()));
    }
    let stored = serde_json::to_value(&model).unwrap();
    let error = serde_json::from_value::<Box<dyn Model>>(stored).unwrap_err().to_string();
    assert!(error.contains("more than 16 plugins within each other"), "{error}");
}

#[test]
fn expansions_are_counted_before_they_are_made() {
    let value = "\"value\", ".repeat(20);
    let two = data(vec![real("x"), real("z")], &[Value::Real(1.5), Value::Real(2.0)], 2);
    let refused = |list: &str, data: &Dataset| features(list).fit(data).unwrap_err().to_string();
    let error = refused(&format!(r#"[{{ state = {{ type = "conjunction", of = [{value}] }} }}]"#), &two);
    assert_eq!(
        error,
        "the conjunction has 1048576 functions, more than `most` = 1000000; join fewer or smaller prototypes"
    );
    let by = "0, ".repeat(4000);
    let lags = (0..4)
        .fold("\"equals\"".to_owned(), |of, _| format!(r#"{{ type = "lag", by = [{by}], of = {of} }}"#));
    let data = data(vec![symbolic("c", &["a", "b"])], &[Value::Symbol(0)], 2);
    let error = refused(&format!("[{{ state = {lags} }}]"), &data);
    assert!(error.starts_with("`lag` would make 32000000 functions of what is in it, more than"), "{error}");
}

#[test]
fn stored_expansions_are_counted_before_they_are_made() {
    let data = data(vec![symbolic("c", &["a", "b"])], &[Value::Symbol(0)], 2);
    let list = features(
        r#"[{ state = { type = "lag", by = [0, 1], of = { type = "lag", by = [0], of = "equals" } } }]"#,
    );
    let mut stored = serde_json::to_value(list.fit(&data).unwrap()).unwrap();
    let outer = &mut stored["state"][0]["encoder"];
    outer["by"] = vec![0; 10_000].into();
    outer["of"]["len"] = 8000.into();
    outer["of"]["encoder"]["by"] = vec![0; 4000].into();
    let error = serde_json::from_value::<crf_core::FittedFeatures>(stored).unwrap_err().to_string();
    assert!(error.contains("`lag` would make 80000000 functions"), "{error}");
}

#[test]
fn more_labels_than_pairs_can_be_numbered_are_refused_with_their_number() {
    let many = data(vec![], &[], 70_000);
    let error = features(r#"["intercept"]"#).fit(&many).unwrap_err().to_string();
    let want = "the data have 70000 labels, and pairs are numbered for at most 65536";
    assert!(error.starts_with(want), "{error}");
}

#[test]
fn the_estimate_makes_no_feature() {
    let symbols: Vec<String> = (0..9000).map(|k| format!("s{k}")).collect();
    let names: Vec<&str> = symbols.iter().map(String::as_str).collect();
    let data = data(vec![symbolic("c", &names)], &[Value::Symbol(0)], 300);
    let fitted = features(r#"[{ transition = "equals", pairs = "observed" }]"#).fit(&data).unwrap();
    let estimate = fitted.estimate(&data).unwrap();
    assert_eq!((estimate.functions, estimate.features), (9000, 810_000_000));
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn the_estimate_counts_the_features_of_the_map(seed: u64, graphs: bool) {
        let (data, fitted) = random_corpus(seed, graphs, Sharing::Few);
        prop_assert_eq!(fitted.estimate(&data).unwrap().features, fitted.candidates().unwrap().len());
    }
}
