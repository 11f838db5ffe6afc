//! Names and indices of features, and narrowed maps.
use std::sync::Arc;

use crf_core::{Dataset, DatasetBuilder, FeatureMap, Target};
use crf_testing::datasets::{chains, features, labelled, real, two_kinds};

fn names(map: &FeatureMap) -> Vec<String> {
    (0..map.len()).map(|k| map.name(k)).collect()
}

fn map_of(list: &str, data: Dataset) -> FeatureMap {
    let fitted = features(list).fit(&data).unwrap();
    fitted.map(&fitted.encode(Arc::new(data)).unwrap()).unwrap()
}

fn of(list: &str) -> FeatureMap {
    map_of(list, chains(&[&[(1.0, 0)]]))
}

#[test]
fn observed_pairs_are_those_of_the_training_data() {
    let data = labelled(&["a", "b", "c"], &["a b b", "b ? c"]);
    let list = r#"[{ state = "one", pairs = "observed" }, { state = "first", pairs = "observed" },
                   { transition = "one", pairs = "observed" }, { state = "first" }]"#;
    let map = map_of(list, data);
    let state =
        ["y=a", "y=b", "y=c", "y=a ∧ first", "y=b ∧ first", "y=a ∧ first", "y=b ∧ first", "y=c ∧ first"];
    assert_eq!(names(&map)[..8], state);
    assert_eq!(names(&map)[8..], ["y'=a ∧ y=b", "y'=b ∧ y=b"]);
}

#[test]
fn features_stand_in_order_of_their_functions_with_state_features_first() {
    let map = of(r#"["transition", "intercept", { state = "value" }, { transition = "equals" }]"#);
    assert_eq!(names(&map)[..4], ["y=n", "y=y", "y=n ∧ x", "y=y ∧ x"]);
    let pairs = ["y'=n ∧ y=n", "y'=n ∧ y=y", "y'=y ∧ y=n", "y'=y ∧ y=y"];
    assert_eq!(names(&map)[4..8], pairs);
    assert_eq!(names(&map)[8..12], pairs.map(|pair| format!("{pair} ∧ c=a")));
    assert_eq!((map.len(), map.state().len(), map.transition().len()), (20, 4, 16));
    assert_eq!((map.state().n_observations(), map.transition().n_observations()), (2, 4));
    assert_eq!(map.feature(3), (1, Target::State(1)));
    assert_eq!(map.feature(4 + 4 + 2), (1, Target::Transition(1, 0)));
}

#[test]
fn relations_are_named_when_there_are_several() {
    let mut data = DatasetBuilder::new(Arc::new(two_kinds(vec![])));
    data.end_graph(crf_core::Graph::new(&two_kinds(vec![]), vec![], vec![]).unwrap()).unwrap();
    let map = map_of(r#"["transition", { state = "first", kind = "b" }]"#, data.finish());
    assert_eq!(names(&map)[..3], ["y=b0 ∧ first", "y=b1 ∧ first", "y=b2 ∧ first"]);
    assert_eq!(map.name(3 + 5), "ab: y'=a1 ∧ y=b2");
    assert_eq!(map.feature(3 + 5), (0, Target::Transition(1, 2)));
    assert_eq!(map.name(3 + 6 + 5), "ba: y'=b2 ∧ y=a1");
    assert_eq!(map.feature(3 + 6 + 5), (1, Target::Transition(2, 1)));
}

#[test]
fn only_constant_state_features_are_intercepts() {
    let map = of(r#"["intercept", "start", { state = "value" }, "transition"]"#);
    let intercepts: Vec<usize> = (0..map.len()).filter(|&k| map.is_intercept(k)).collect();
    assert_eq!(intercepts, [0, 1]);
    let (narrow, _) = map.narrow(|k| k != 0);
    let intercepts: Vec<String> =
        (0..narrow.len()).filter(|&k| narrow.is_intercept(k)).map(|k| narrow.name(k)).collect();
    assert_eq!(intercepts, ["y=y"]);
}

#[test]
fn narrow_maps_keep_the_numbers_of_functions() {
    let map = of(r#"["intercept", { state = "equals" }, "transition"]"#);
    let (narrow, kept) = map.narrow(|k| [1, 6, 10].contains(&k));
    assert_eq!(kept, [1, 6, 10]);
    assert_eq!(names(&narrow), ["y=y", "y=n ∧ c=c", "y'=y ∧ y=n"]);
    assert_eq!(narrow.state().n_observations(), 4);
    assert_eq!((1..3).map(|g| narrow.state().range(g)).collect::<Vec<_>>(), [1..1, 1..1]);
    assert_eq!(narrow.feature(1), (3, Target::State(0)));
    let (none, kept) = map.narrow(|_| false);
    assert!(none.is_empty() && kept.is_empty());
}

#[test]
fn groups_of_different_prototypes_never_meet() {
    // `equals` calls its group after the channel, number 1 here, which is not below its number of
    // functions.
    let one = r#"{ state = { type = "equals", symbols = ["a"] } }"#;
    let map = of(&format!(r#"[{one}, {{ state = "value" }}, {{ state = "equals" }}, {one}]"#));
    let meet = |g: u32, h: u32| map.state().group(g) == map.state().group(h);
    for g in 0..6 {
        for h in 0..6 {
            let alternatives = (2..5).contains(&g) && (2..5).contains(&h);
            assert_eq!(meet(g, h), g == h || alternatives, "{g} {h}");
        }
    }
}

#[test]
fn maps_survive_saving() {
    let data = chains(&[&[(1.0, 0)]]);
    let list = r#"["intercept", { state = "equals" }, "transition"]"#;
    let (map, _) = of(list).narrow(|k| k % 2 == 0);
    let text = serde_json::to_string(&map).unwrap();
    let mut read: FeatureMap = serde_json::from_str(&text).unwrap();
    assert_eq!(read.name(1), "feature 1");
    let other = features(r#"["intercept"]"#).fit(&data).unwrap();
    let message = read.restore(&other).unwrap_err().to_string();
    assert_eq!(message, "the model has other features than those stored with it");
    read.restore(&features(list).fit(&data).unwrap()).unwrap();
    assert_eq!(read, map);
}

#[test]
fn unknown_kinds_and_relations_are_refused_with_the_nearest_name() {
    let mut data = DatasetBuilder::new(Arc::new(two_kinds(vec![real("x")])));
    data.end_graph(crf_core::Graph::new(&two_kinds(vec![real("x")]), vec![], vec![]).unwrap()).unwrap();
    let data = data.finish();
    let refused = |list: &str| features(list).fit(&data).unwrap_err().to_string();
    let message = refused(r#"[{ state = "one", kind = "noun-phrase" }]"#);
    assert_eq!(message, "unknown kind of node `noun-phrase`; there is `a`, `b`");
    let message = refused(r#"[{ transition = "one", relation = "aba" }]"#);
    assert_eq!(message, "unknown relation `aba`, did you mean `ab`?");
}
