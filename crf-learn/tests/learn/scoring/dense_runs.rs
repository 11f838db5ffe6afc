//! Dense runs change no scores and no expectations.
use std::sync::Arc;

use crf_core::{Alphabet, Dataset, DatasetBuilder, Schema, Scratch, Seed, Value};
use crf_learn::Scorer;
use crf_testing::cases;
use crf_testing::datasets::{features, random_labels, random_weights, real};
use proptest::prelude::*;

/// Chains of several lengths, with real values of which few are 0 or 1, so that runs start and end.
fn measured(seed: u64, n_labels: usize, n_channels: usize) -> Arc<Dataset> {
    let mut rng = Seed::new(seed).child("measured").rng();
    let names = Alphabet::new((0..n_labels).map(|y| format!("y{y}")));
    let channels = (0..n_channels).map(|k| real(&format!("x{k}"))).collect();
    let mut data = DatasetBuilder::new(Arc::new(Schema::chain(channels, names).unwrap()));
    for length in [1, 7, 8, 9, 40, 100] {
        for _ in 0..length {
            let values: Vec<Value<'_>> = (0..n_channels)
                .map(|_| match rng.random_range(0..200) {
                    0 => Value::Real(0.0),
                    1 => Value::Real(1.0),
                    _ => Value::Real(rng.random_range(-2.0..2.0)),
                })
                .collect();
            data.push(&values, Some(rng.random_range(0..n_labels as u32))).unwrap();
        }
        data.end_chain().unwrap();
    }
    Arc::new(data.finish())
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs())
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn bands_change_no_score_and_no_expectation(
        seed in any::<u64>(),
        n_labels in 2_usize..20,
        n_channels in 1_usize..12,
        observed in any::<bool>(),
        share in 0.2..1.0,
    ) {
        let data = measured(seed, n_labels, n_channels);
        let pairs = if observed { "observed" } else { "all" };
        let fitted = features(&format!(r#"[{{ state = "value", pairs = "{pairs}" }}, "intercept"]"#)).fit(&data).unwrap();
        let x = fitted.encode(data.clone()).unwrap();
        // Features as selectors leave them: some labels of a function.
        let mut rng = Seed::new(seed).child("kept").rng();
        let map = fitted.map(&x).unwrap().narrow(|_| rng.random_bool(share)).0;
        let mut scorer = Scorer::new(&map, &x).unwrap();
        let (w, mut scratch) = (random_weights(seed, map.len()), Scratch::new());
        scorer.update(&w);
        let (mut packed, mut expected) = (vec![0.0; scorer.n_packed()], vec![0.0; map.len()]);
        for i in 0..data.len() {
            let labels = random_labels(seed, &data, i);
            let p = scorer.fill(i, &mut scratch).unwrap();
            let mut score = 0.0;
            scorer.for_each_feature(i, &labels, |k, value| score += w[k] * value);
            prop_assert!(close(score, p.score(&labels)));
            // Beliefs that are certain of a labelling expect its features.
            let mut node = vec![0.0; p.node().len()];
            labels.iter().enumerate().for_each(|(n, &label)| node[n * n_labels + label as usize] = 1.0);
            scorer.add_expected(i, &node, &[], 1.5, &mut packed, &mut scratch);
            scorer.add_features(i, &labels, 1.5, &mut expected);
        }
        let mut found = vec![f64::NAN; map.len()];
        scorer.unpack(&packed, &vec![0.0; scorer.n_sums()], &mut found);
        prop_assert!(found.iter().zip(&expected).all(|(&a, &b)| close(a, b)));
    }
}
