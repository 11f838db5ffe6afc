//! Merged columns keep scores, features and norms.
use crf_core::Scratch;
use crf_learn::{MergedFeatures, Scorer};
use crf_testing::cases;
use crf_testing::datasets::{Sharing, features, labelled, random_corpus, random_labels, random_weights};
use proptest::prelude::*;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs())
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn merged_weights_score_as_all_weights_do(seed in any::<u64>(), graphs in any::<bool>()) {
        let (data, _) = random_corpus(seed, graphs, Sharing::Few);
        let list = r#"["intercept", "transition", "start", { state = "value" }, { state = "equals" },
            { state = "equals", pairs = "observed" }, { state = "value" }, { state = "equals" }]"#;
        let fitted = features(list).fit(&data).unwrap();
        let x = fitted.encode(data.clone()).unwrap();
        let wide = fitted.map(&x).unwrap();
        let Some(merged) = MergedFeatures::new(&wide, &x) else {
            // A zero is no entry, and a symbol outside of the alphabet has none: `start` alone
            // remains, once.
            let starts = (0..data.len()).filter(|&i| data.shape(i).n_nodes() > 0).count();
            prop_assert_eq!(x.nodes().n_entries(), starts, "what stands twice in the list is merged");
            return Ok(());
        };
        prop_assert!(merged.map().len() < wide.len());

        let u = random_weights(seed, merged.map().len());
        let w = merged.expand(&wide, &u);
        prop_assert!(close(dot(&u, &u), dot(&w, &w)), "the penalty is the same");
        let again = merged.merge(&wide, &w);
        prop_assert!(u.iter().zip(&again).all(|(&a, &b)| close(a, b)));
        let any = random_weights(seed ^ 1, wide.len());
        let of_any = merged.merge(&wide, &any);

        let (mut narrow, mut all) = (Scorer::new(merged.map(), &x).unwrap(), Scorer::new(&wide, &x).unwrap());
        let (mut one, mut other) = (Scratch::new(), Scratch::new());
        for (u, w) in [(&u, &w), (&of_any, &any)] {
            narrow.update(u);
            all.update(w);
            for i in 0..data.len() {
                let labels = random_labels(seed, &data, i);
                let score = all.fill(i, &mut other).unwrap().score(&labels);
                prop_assert!(close(narrow.fill(i, &mut one).unwrap().score(&labels), score));
                let (mut of_narrow, mut of_all) = (vec![0.0; u.len()], vec![0.0; w.len()]);
                narrow.add_features(i, &labels, 1.0, &mut of_narrow);
                all.add_features(i, &labels, 1.0, &mut of_all);
                prop_assert!(close(dot(&of_narrow, u), score));
                // Inner products of gradients are the same too, and those with merged ones.
                prop_assert!(close(dot(&of_narrow, &of_narrow), dot(&of_all, &of_all)));
                let together = merged.merge(&wide, &of_all);
                prop_assert!(together.iter().zip(&of_narrow).all(|(&a, &b)| close(a, b)));
            }
        }
    }

    #[test]
    fn beliefs_become_expected_features_of_merged_maps(seed in any::<u64>()) {
        let (data, _) = random_corpus(seed, false, Sharing::One);
        let fitted = features(r#"["intercept", { state = "equals" }, { state = "equals" }]"#).fit(&data).unwrap();
        let x = fitted.encode(data.clone()).unwrap();
        let wide = fitted.map(&x).unwrap();
        let Some(merged) = MergedFeatures::new(&wide, &x) else { return Ok(()) };
        let expected = |map| {
            let (scorer, mut scratch) = (Scorer::new(map, &x).unwrap(), Scratch::new());
            let (mut sums, mut out) = (vec![0.0; scorer.n_packed()], vec![0.0; map.len()]);
            for i in 0..data.len() {
                let shape = data.shape(i);
                let node = random_weights(seed ^ i as u64, shape.node_offset(shape.n_nodes()));
                scorer.add_expected(i, &node, &[], 1.5, &mut sums, &mut scratch);
            }
            scorer.unpack(&sums, &vec![0.0; scorer.n_sums()], &mut out);
            out
        };
        let (all, narrow) = (expected(&wide), expected(merged.map()));
        let together = merged.merge(&wide, &all);
        prop_assert!(together.iter().zip(&narrow).all(|(&a, &b)| close(a, b)));
    }
}

#[test]
fn nothing_is_merged_where_all_columns_differ() {
    let data = std::sync::Arc::new(labelled(&["n", "y"], &["n y", "y"]));
    let fitted = features(r#"["intercept", "transition", "start"]"#).fit(&data).unwrap();
    let x = fitted.encode(data).unwrap();
    assert!(MergedFeatures::new(&fitted.map(&x).unwrap(), &x).is_none());
}
