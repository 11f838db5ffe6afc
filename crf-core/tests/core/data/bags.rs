//! Bags of attributes, alphabets that grow with training data, and labels that training never saw.
use std::sync::Arc;

use crf_core::metrics::{Confusion, MacroF1};
use crf_core::{Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Evaluation, Metric as _, Value};
use crf_testing::datasets::features;

fn channels() -> Vec<Channel> {
    vec![Channel { name: "attributes".into(), kind: ChannelKind::Bag(Alphabet::default()) }]
}

/// One sequence of positions, each `label attribute…`, where `attribute:2` has the value 2.
fn fill(mut data: DatasetBuilder, positions: &[&str]) -> Dataset {
    for position in positions {
        let mut words = position.split(' ');
        let label = data.label(words.next().unwrap());
        let bag: Vec<(u32, f64)> = words
            .map(|word| {
                let (name, value) = word.split_once(':').unwrap_or((word, "1"));
                (data.symbol(0, name), value.parse().unwrap())
            })
            .collect();
        data.push(&[Value::Bag(&bag)], Some(label)).unwrap();
    }
    data.end_chain().unwrap();
    data.finish()
}

fn train() -> Dataset {
    fill(DatasetBuilder::growing(channels()).unwrap(), &["n rare the", "v runs:2 the the:0.5", "n the"])
}

#[test]
fn attributes_are_numbered_by_frequency_and_unknown_ones_are_dropped() {
    let train = train();
    assert_eq!(train.schema().labels().names().iter().collect::<Vec<_>>(), ["n", "v"]);
    let fitted = features(r#"[{ state = "attributes", pairs = "observed" }]"#).fit(&train).unwrap();
    let schema = train.schema().clone();
    let x = fitted.encode(Arc::new(train)).unwrap();
    let map = fitted.map(&x).unwrap();
    let names: Vec<String> = (0..map.len()).map(|k| map.name(k)).collect();
    assert_eq!(names, ["y=n ∧ the", "y=v ∧ the", "y=n ∧ rare", "y=v ∧ runs"]);
    let mut row = Vec::new();
    x.nodes().for_each(1, |g, value| row.push((g, value)));
    assert_eq!(row, [(2, 2.0), (0, 1.5)]);
    let test = fill(DatasetBuilder::new(schema), &["n new the:3"]);
    let test = fitted.encode(Arc::new(test)).unwrap();
    let mut row = Vec::new();
    test.nodes().for_each(0, |g, value| row.push((g, value)));
    assert_eq!(row, [(0, 3.0)]);
}

#[test]
fn a_cut_off_counts_occurrences() {
    let map = features(r#"[{ state = { type = "attributes", min_count = 2 } }]"#);
    let train = train();
    let fitted = map.fit(&train).unwrap();
    let map = fitted.map(&fitted.encode(Arc::new(train)).unwrap()).unwrap();
    assert_eq!((map.len(), map.name(0)), (2, "y=n ∧ the".to_owned()));
}

#[test]
fn foreign_labels_keep_their_names_and_are_always_wrong() {
    let schema = train().schema().clone();
    let data = Arc::new(fill(DatasetBuilder::new(schema), &["n the", "x the", "y the", "x the"]));
    assert_eq!(data.n_foreign(), 3);
    let foreign = data.labels()[2].unwrap();
    assert!(Dataset::is_foreign(foreign));
    assert_eq!(data.label_name(0, foreign), "y");
    let predicted = vec![0; 4];
    let evaluation = Evaluation { data, predicted, probabilities: None, map: None };
    // Label n has precision 1/4 and recall 1; x and y have an F1 of 0.
    let macro_f1 = MacroF1 {}.measure(&evaluation.clone().into()).unwrap();
    assert!((macro_f1 - 0.4 / 3.0).abs() < 1e-12, "{macro_f1}");
    let confusion = Confusion::of(&evaluation);
    assert_eq!((confusion.foreign(), confusion.predicted(0), confusion.precision(0)), (3, 4, 0.25));
}

#[test]
fn values_that_are_not_finite_are_named() {
    let mut data = DatasetBuilder::growing(channels()).unwrap();
    let the = data.symbol(0, "the");
    let error = data.push(&[Value::Bag(&[(the, f64::NAN)])], None).unwrap_err().to_string();
    let want = "sequence 1, position 1, channel `attributes`: not a finite number: `the` is NaN";
    assert_eq!(error, want);
}

#[test]
fn training_data_without_a_label_are_refused() {
    let mut data = DatasetBuilder::growing(channels()).unwrap();
    data.push(&[Value::Bag(&[])], None).unwrap();
    data.end_chain().unwrap();
    let error = features(r#"["intercept"]"#).fit(&data.finish()).unwrap_err().to_string();
    assert_eq!(error, "the training data have no label at any position");
}

#[test]
fn an_attribute_that_stands_twice_is_the_sum_of_its_values_for_every_prototype() {
    let many: Vec<String> = (0..30).map(|k| format!("m{k}")).collect();
    let many = many.join(" ");
    let twice = ["n b a a", "y a:0.5 b a:1.5 b:-1", &format!("y {many} m3 m29:4"), "n new new:3"];
    let once = ["n b a:2", "y a:2", &format!("y {many}"), "n new:4"];
    let once = [once[0], once[1], &once[2].replace("m3 ", "m3:2 ").replace("m29", "m29:5"), once[3]];
    let [twice, once] =
        [&twice[..], &once].map(|lines| fill(DatasetBuilder::growing(channels()).unwrap(), lines));
    // No prototype sees more than the data.
    assert_eq!(twice, once);
    for of in [r#""attributes""#, r#"{ type = "power", of = "attributes" }"#] {
        let window = format!(r#"{{ type = "window", over = "all", of = {of} }}"#);
        for of in [of, &window] {
            let fitted = features(&format!("[{{ state = {of} }}]")).fit(&twice).unwrap();
            let [x, y] = [&twice, &once].map(|data| fitted.encode(Arc::new(data.clone())).unwrap());
            assert_eq!(x.nodes(), y.nodes(), "{of}");
        }
    }
}

#[test]
fn attributes_whose_sum_is_not_finite_are_named() {
    let mut data = DatasetBuilder::growing(channels()).unwrap();
    let the = data.symbol(0, "the");
    let error = data.push(&[Value::Bag(&[(the, 1e308), (the, 1e308)])], None).unwrap_err().to_string();
    assert!(error.ends_with("not a finite number: `the` is inf"), "{error}");
}
