//! Edge tables under weights that are shifted, as perceptrons do.
use std::sync::Arc;

use crf_core::kernel_support::{EdgeScores, OwnTables};
use crf_core::{Alphabet, DatasetBuilder, EncodedDataset, FeatureMap, Schema, Value};
use crf_testing::datasets::{features, random_weights, symbolic};

/// Chains of three positions whose edges have `n_rows` distinct rows, each four times and more.
fn corpus(n_rows: u32) -> (EncodedDataset, FeatureMap) {
    let symbols: Vec<String> = (0..n_rows).map(|k| format!("s{k}")).collect();
    let names: Vec<&str> = symbols.iter().map(String::as_str).collect();
    let schema = Schema::chain(vec![symbolic("c", &names)], Alphabet::new(["u", "v"])).unwrap();
    let mut data = DatasetBuilder::new(schema.into());
    for k in 0..3 * n_rows {
        (0..3).for_each(|t| data.push(&[Value::Symbol((k + t) % n_rows)], Some(t % 2)).unwrap());
        data.end_chain().unwrap();
    }
    let data = Arc::new(data.finish());
    let fitted = features(r#"["transition", { transition = "equals" }]"#).fit(&data).unwrap();
    let x = fitted.encode(data).unwrap();
    let map = fitted.map(&x).unwrap();
    assert_eq!(x.edge_rows().len(), n_rows as usize);
    (x, map)
}

#[test]
fn a_mistake_costs_the_tables_of_its_sequence_not_those_of_all() {
    for n_rows in [10, 100] {
        let (x, map) = corpus(n_rows);
        let mut weights = random_weights(7, map.len());
        let mut scores = EdgeScores::new(&map, &x);
        scores.update(&weights);
        assert!(scores.are_shared());
        scores.shift(1, &[0, 0, 0], &[1, 0, 1], |_| 0.5, |k, change| weights[k] += change);
        let mut fresh = EdgeScores::new(&map, &x);
        fresh.update(&weights);
        let (mut one, mut other) = (OwnTables::default(), OwnTables::default());
        for i in 0..x.len() {
            let (shifted, updated) = (scores.tables(i, &mut one), fresh.tables(i, &mut other));
            if n_rows > 64 {
                assert_eq!(shifted.values.len(), 2 * 4, "two edges of two labels each");
            }
            for e in 0..2 {
                let same = shifted.of(e).iter().zip(updated.of(e)).all(|(a, b)| (a - b).abs() < 1e-12);
                assert!(same, "{:?} and {:?}", shifted.of(e), updated.of(e));
            }
        }
        scores.update(&weights);
        assert!(scores.are_shared() && scores.n_shared() == 4 * n_rows as usize);
    }
}

#[test]
fn a_shift_of_some_functions_leaves_the_tables_of_others_as_they_are() {
    let (x, map) = corpus(10);
    // Without the constant function, which is a part of every table.
    let map = map.narrow(|k| map.name(k).contains("c=")).0;
    let mut scores = EdgeScores::new(&map, &x);
    scores.update(&vec![0.25; map.len()]);
    let mut own = OwnTables::default();
    let before = scores.tables(0, &mut own).values.to_vec();
    scores.shift(0, &[0, 0, 0], &[0, 1, 0], |_| 0.5, |_, _| ());
    let after = scores.tables(0, &mut own);
    let changed = before.chunks(4).zip(after.values.chunks(4)).filter(|(before, after)| before != after);
    assert_eq!(changed.count(), 2, "the sequence has two edges");
}

#[test]
fn tables_that_were_bad_under_other_weights_are_good_again() {
    let (x, map) = corpus(10);
    let mut scores = EdgeScores::new(&map, &x);
    let mut own = OwnTables::default();
    let mut is_bad = |weight: f64| {
        scores.update(&vec![weight; map.len()]);
        scores.tables(0, &mut own).version.may_be_bad()
    };
    assert_eq!([is_bad(1.0), is_bad(1.7e308), is_bad(-1.0)], [false, true, false]);
}

#[test]
fn borrowed_weights_make_the_tables_that_copied_ones_do() {
    let (x, map) = corpus(100);
    let weights = random_weights(3, map.len());
    let borrowed = EdgeScores::with_weights(&map, &x, &weights);
    let mut copied = EdgeScores::new(&map, &x);
    copied.update(&weights);
    let (mut one, mut other) = (OwnTables::default(), OwnTables::default());
    for i in 0..x.len() {
        let (borrowed, copied) = (borrowed.tables(i, &mut one), copied.tables(i, &mut other));
        assert_eq!(borrowed.values, copied.values);
    }
}
