//! The scorer against its definition: scores are weights times features, expectations are sums over
//! all labellings.
use std::sync::Arc;

use crf_core::{EdgeBeliefs, EdgeTables, LogLinear, Model as _, Potentials, Scratch, oracle};
use crf_learn::Scorer;
use crf_testing::cases;
use crf_testing::datasets::{Sharing, features, labelled, random_corpus, random_labels, random_weights};
use proptest::prelude::*;

fn sharing() -> impl Strategy<Value = Sharing> {
    prop_oneof![Just(Sharing::One), Just(Sharing::Few), Just(Sharing::Own)]
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

/// Node marginals by enumeration; `edge` is the destination of edge marginals.
fn enumerate(p: &Potentials<'_>, edge: EdgeBeliefs<'_>) -> Vec<f64> {
    let (shape, log_z) = (p.shape(), oracle::log_z(p));
    let EdgeBeliefs::PerTable { sums, weight } = edge else {
        panic!("a scorer asks for sums per table");
    };
    let mut node = vec![0.0; p.node().len()];
    for y in oracle::all_labellings(p) {
        let probability = (y.score - log_z).exp();
        for (n, &label) in y.labels.iter().enumerate() {
            node[shape.node_offset(n) + label as usize] += probability;
        }
        for e in 0..shape.n_edges() {
            let (u, v) = shape.ends(e);
            let start = p.tables().starts[p.tables().of_edge.table(e)];
            let pair = y.labels[u] as usize * shape.card(v) + y.labels[v] as usize;
            sums[start + pair] += weight * probability;
        }
    }
    node
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn a_score_is_weights_times_features(
        seed in any::<u64>(), graphs in any::<bool>(), sharing in sharing(),
    ) {
        let (data, fitted) = random_corpus(seed, graphs, sharing);
        let x = fitted.encode(data.clone()).unwrap();
        let map = fitted.map(&x).unwrap();
        let w = random_weights(seed, map.len());
        let mut scorer = Scorer::new(&map, &x).unwrap();
        scorer.update(&w);
        let mut buffer = Scratch::new();
        for i in 0..data.len() {
            let labels = random_labels(seed, &data, i);
            let mut of = vec![0.0; map.len()];
            scorer.add_features(i, &labels, 2.0, &mut of);
            let score = scorer.fill(i, &mut buffer).unwrap().score(&labels);
            prop_assert!(close(dot(&w, &of), 2.0 * score), "{} vs {score}", dot(&w, &of) / 2.0);
        }
    }

    #[test]
    fn a_bound_model_scores_as_the_scorer_does(
        seed in any::<u64>(), graphs in any::<bool>(), sharing in sharing(),
    ) {
        let (data, fitted) = random_corpus(seed, graphs, sharing);
        let x = fitted.encode(data.clone()).unwrap();
        let map = Arc::new(fitted.map(&x).unwrap());
        let w = random_weights(seed, map.len());
        let mut scorer = Scorer::new(&map, &x).unwrap();
        scorer.update(&w);
        let model = LogLinear::new(map.clone(), w).unwrap();
        let (bound, mut one, mut other) = (model.bind(&x).unwrap(), Scratch::new(), Scratch::new());
        for i in 0..data.len() {
            let (of_model, of_scorer) = (bound.fill(i, &mut one).unwrap(), scorer.fill(i, &mut other).unwrap());
            prop_assert!(of_model.node().iter().zip(of_scorer.node()).all(|(&a, &b)| close(a, b)));
            for e in 0..data.shape(i).n_edges() {
                prop_assert_eq!(of_model.tables().of(e), of_scorer.tables().of(e));
            }
        }
    }

    #[test]
    fn expected_features_are_those_of_all_labellings(
        seed in any::<u64>(), graphs in any::<bool>(), sharing in sharing(),
    ) {
        let (data, fitted) = random_corpus(seed, graphs, sharing);
        let x = fitted.encode(data.clone()).unwrap();
        let map = fitted.map(&x).unwrap();
        let w = random_weights(seed, map.len());
        let mut scorer = Scorer::new(&map, &x).unwrap();
        scorer.update(&w);
        let (mut got, mut want) = (vec![0.0; map.len()], vec![0.0; map.len()]);
        let (mut packed, mut sums) = (vec![0.0; scorer.n_packed()], vec![0.0; scorer.n_sums()]);
        let mut own = Vec::new();
        let mut buffer = Scratch::new();
        for i in (0..data.len()).filter(|&i| data.range(i).len() <= 4) {
            let weight = data.weight(i);
            let p = scorer.fill(i, &mut buffer).unwrap();
            let node = enumerate(&p, scorer.edge_beliefs(i, weight, &mut sums, &mut own));
            let log_z = oracle::log_z(&p);
            for y in oracle::all_labellings(&p) {
                scorer.add_features(i, &y.labels, weight * (y.score - log_z).exp(), &mut want);
            }
            scorer.add_expected(i, &node, &own, weight, &mut packed, &mut buffer);
        }
        scorer.unpack(&packed, &sums, &mut got);
        for k in 0..map.len() {
            prop_assert!(close(got[k], want[k]), "`{}`: {} vs {}", map.name(k), got[k], want[k]);
        }
    }

    #[test]
    fn updates_leave_nothing_of_earlier_weights(
        seed in any::<u64>(), graphs in any::<bool>(), sharing in sharing(),
    ) {
        let (data, fitted) = random_corpus(seed, graphs, sharing);
        let x = fitted.encode(data.clone()).unwrap();
        let map = fitted.map(&x).unwrap();
        let (old, new) = (random_weights(seed, map.len()), random_weights(!seed, map.len()));
        let (mut used, mut fresh) = (Scorer::new(&map, &x).unwrap(), Scorer::new(&map, &x).unwrap());
        let (mut one, mut other) = (Scratch::new(), Scratch::new());
        used.update(&old);
        for i in 0..data.len() {
            used.fill(i, &mut one).unwrap();
        }
        used.update(&new);
        fresh.update(&new);
        for i in 0..data.len() {
            let (a, b) = (used.fill(i, &mut one).unwrap(), fresh.fill(i, &mut other).unwrap());
            prop_assert_eq!(a.node(), b.node());
            (0..a.shape().n_edges()).for_each(|e| assert_eq!(a.tables().of(e), b.tables().of(e)));
        }
    }
}

#[test]
fn the_generator_makes_every_way_of_sharing_tables() {
    for graphs in [false, true] {
        let shape = |sharing| {
            let (data, fitted) = random_corpus(3, graphs, sharing);
            let x = fitted.encode(data).unwrap();
            let map = fitted.map(&x).unwrap();
            (x.edge_rows().len(), Scorer::new(&map, &x).unwrap().n_sums())
        };
        // One row per relation.
        assert_eq!(shape(Sharing::One).0, if graphs { 2 } else { 1 });
        let (rows, sums) = shape(Sharing::Few);
        assert!((2..=64).contains(&rows) && sums > 0, "{rows} {sums}");
        let (rows, sums) = shape(Sharing::Own);
        assert!(rows > 64 && sums == 0, "{rows} {sums}");
    }
}

#[test]
fn one_row_makes_one_shared_table_with_one_version_per_update() {
    let (data, fitted) = random_corpus(3, false, Sharing::One);
    let x = fitted.encode(data).unwrap();
    let map = fitted.map(&x).unwrap();
    let mut scorer = Scorer::new(&map, &x).unwrap();
    let w = random_weights(3, map.len());
    let version = |scorer: &mut Scorer<'_>| {
        scorer.update(&w);
        let mut buffer = Scratch::new();
        let p = scorer.fill(0, &mut buffer).unwrap();
        assert!(matches!(p.tables().of_edge, EdgeTables::Shared));
        p.tables().version
    };
    assert_ne!(version(&mut scorer), version(&mut scorer));
}

#[test]
fn a_model_binds_fills_and_describes_itself() {
    let data = Arc::new(labelled(&["rain", "sun"], &["rain sun", ""]));
    let fitted = features(r#"["intercept", "transition"]"#).fit(&data).unwrap();
    let x = fitted.encode(data).unwrap();
    let map = Arc::new(fitted.map(&x).unwrap());
    let model = LogLinear::new(map, vec![0.0, 1.0, 0.5, -3.0, 0.0, 2.0]).unwrap();
    let bound = model.bind(&x).unwrap();
    let mut buffer = Scratch::new();
    let p = bound.fill(0, &mut buffer).unwrap();
    assert_eq!(p.node(), [0.0, 1.0, 0.0, 1.0]);
    assert_eq!(p.tables().of(0), [0.5, -3.0, 0.0, 2.0]);
    assert_eq!(p.score(&[1, 1]), 4.0);
    assert_eq!(bound.fill(1, &mut buffer).unwrap().score(&[]), 0.0);
    let mut seen = Vec::new();
    model.describe(2, &mut |name, weight| seen.push((name.to_owned(), weight)));
    assert_eq!(seen, [("y'=rain ∧ y=sun".into(), -3.0), ("y'=sun ∧ y=sun".into(), 2.0)]);
}

#[test]
fn models_that_cannot_work_are_refused() {
    let data = Arc::new(labelled(&["rain", "sun"], &["rain sun"]));
    let fitted = features(r#"["intercept"]"#).fit(&data).unwrap();
    let map = Arc::new(fitted.map(&fitted.encode(data).unwrap()).unwrap());
    let refused = |weights: Vec<f64>| LogLinear::new(map.clone(), weights).unwrap_err().to_string();
    assert_eq!(refused(vec![1.0]), "1 weights for 2 features");
    assert_eq!(refused(vec![1.0, f64::NAN]), "not a finite number: the weight of `y=sun` is NaN");
    let other = Arc::new(labelled(&["rain", "snow"], &["rain"]));
    let message = "the data have other channels or labels than those the features were fitted on";
    assert_eq!(fitted.encode(other.clone()).unwrap_err().to_string(), message);
    let x = features(r#"["intercept"]"#).fit(&other).unwrap().encode(other).unwrap();
    let message = "the model was made for other channels or labels than the data have";
    assert_eq!(Scorer::new(&map, &x).unwrap_err().to_string(), message);
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn shifted_weights_score_as_updated_ones(seed in any::<u64>(), graphs in any::<bool>(), sharing in sharing()) {
        let (data, fitted) = random_corpus(seed, graphs, sharing);
        let x = fitted.encode(data.clone()).unwrap();
        let map = fitted.map(&x).unwrap();
        let mut w = random_weights(seed, map.len());
        let (mut shifted, mut updated) = (Scorer::new(&map, &x).unwrap(), Scorer::new(&map, &x).unwrap());
        shifted.update(&w);
        for i in 0..x.len() {
            let (from, to) = (random_labels(seed ^ 1, &data, i), random_labels(seed ^ 2, &data, i));
            shifted.shift(i, &from, &to, |_| 0.5, |k, change| w[k] += change);
            updated.update(&w);
            for i in 0..x.len() {
                let (mut one, mut other) = (Scratch::new(), Scratch::new());
                let (p, q) = (shifted.fill(i, &mut one).unwrap(), updated.fill(i, &mut other).unwrap());
                for (p, q) in p.node().iter().zip(q.node()) {
                    prop_assert!(close(*p, *q), "{p} vs {q}");
                }
                for e in 0..p.shape().n_edges() {
                    for (p, q) in p.tables().of(e).iter().zip(q.tables().of(e)) {
                        prop_assert!(close(*p, *q), "edge {e}: {p} vs {q}");
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn dropping_features_is_setting_their_weights_to_zero(
        seed in any::<u64>(), graphs in any::<bool>(), own in any::<bool>(),
    ) {
        let sharing = if own { Sharing::Own } else { Sharing::Few };
        let (data, fitted) = random_corpus(seed, graphs, sharing);
        let x = fitted.encode(data.clone()).unwrap();
        let wide = fitted.map(&x).unwrap();
        let coins = random_weights(!seed, wide.len());
        let (narrow, kept) = wide.narrow(|k| coins[k] > 0.0);
        prop_assert_eq!(narrow.len(), kept.len());
        let mut w = random_weights(seed, wide.len());
        (0..w.len()).filter(|&k| coins[k] <= 0.0).for_each(|k| w[k] = 0.0);
        let few: Vec<f64> = kept.iter().map(|&k| w[k]).collect();
        for (j, &k) in kept.iter().enumerate() {
            prop_assert_eq!(narrow.name(j), wide.name(k));
            prop_assert_eq!(narrow.feature(j), wide.feature(k));
            prop_assert_eq!(narrow.is_intercept(j), wide.is_intercept(k));
        }
        let mut of_wide = Scorer::new(&wide, &x).unwrap();
        let mut of_narrow = Scorer::new(&narrow, &x).unwrap();
        of_wide.update(&w);
        of_narrow.update(&few);
        let (mut one, mut other) = (Scratch::new(), Scratch::new());
        for i in 0..data.len() {
            let labels = random_labels(seed, &data, i);
            let a = of_wide.fill(i, &mut one).unwrap().score(&labels);
            let b = of_narrow.fill(i, &mut other).unwrap().score(&labels);
            prop_assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{a} vs {b}");
            let (mut of_all, mut of_few) = (vec![0.0; wide.len()], vec![0.0; narrow.len()]);
            of_wide.add_features(i, &labels, 1.0, &mut of_all);
            of_narrow.add_features(i, &labels, 1.0, &mut of_few);
            prop_assert!(kept.iter().zip(&of_few).all(|(&k, &count)| of_all[k] == count));
        }
    }
}
