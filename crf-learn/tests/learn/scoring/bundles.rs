//! Bundles change no scores, expectations or gradients.
use std::sync::Arc;

use crf_core::{Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Scratch, Seed, Value};
use crf_learn::{MergedFeatures, Scorer};
use crf_testing::cases;
use crf_testing::datasets::{features, random_labels, random_weights};
use proptest::prelude::*;

/// Chains of symbols with the attributes of a tagger: each of three neighbours, each pair, all
/// three, and now and then one that is repeated, one of value 0.5, and more than a bundle can have.
fn tagged(seed: u64, n_labels: u32) -> Arc<Dataset> {
    let mut rng = Seed::new(seed).child("tagged").rng();
    let bag = Channel { name: "attributes".into(), kind: ChannelKind::Bag(Alphabet::default()) };
    let mut data = DatasetBuilder::growing(vec![bag]).unwrap();
    for _ in 0..12 {
        let symbols: Vec<u32> = (0..30).map(|_| rng.random_range(0..2)).collect();
        for three in symbols.windows(3) {
            let [a, b, c] = three else { unreachable!("windows of three") };
            let mut names = vec![
                format!("a{a}"),
                format!("b{b}"),
                format!("c{c}"),
                format!("{a}{b}-"),
                format!("-{b}{c}"),
            ];
            names.push(format!("{a}{b}{c}"));
            if rng.random_bool(0.1) {
                names.push(format!("a{a}"));
            }
            if rng.random_bool(0.05) {
                names.extend((0..70).map(|n| format!("many{n}")));
            }
            let mut bag: Vec<(u32, f64)> = names.iter().map(|name| (data.symbol(0, name), 1.0)).collect();
            if rng.random_bool(0.2) {
                bag.push((data.symbol(0, "b0"), 0.5));
            }
            let label = data.label(&format!("l{}", rng.random_range(0..n_labels)));
            data.push(&[Value::Bag(&bag)], Some(label)).unwrap();
        }
        data.end_chain().unwrap();
    }
    Arc::new(data.finish())
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9 * (1.0 + a.abs()))
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn bundles_change_no_score_and_no_expectation(
        seed in any::<u64>(),
        n_labels in 2_u32..20,
        observed in any::<bool>(),
        merged in any::<bool>(),
    ) {
        let data = tagged(seed, n_labels);
        let pairs = if observed { "observed" } else { "all" };
        let list = format!(r#"[{{ state = "attributes", pairs = "{pairs}" }}, "transition", "intercept"]"#);
        let fitted = features(&list).fit(&data).unwrap();
        let x = fitted.encode(data.clone()).unwrap();
        let mut map = Arc::new(fitted.map(&x).unwrap());
        if let (true, Some(merged)) = (merged, MergedFeatures::new(&map, &x)) {
            map = merged.map().clone();
        }
        let (mut plain, mut bundled) = (Scorer::new(&map, &x).unwrap(), Scorer::bundled(&map, &x).unwrap());
        let (mut one, mut other) = (Scratch::new(), Scratch::new());
        let w = random_weights(seed, map.len());
        plain.update(&w);
        bundled.update(&w);
        let (mut of_plain, mut of_bundled) = (vec![0.0; plain.n_packed()], vec![0.0; bundled.n_packed()]);
        for i in 0..data.len() {
            let (a, b) = (plain.fill(i, &mut one).unwrap(), bundled.fill(i, &mut other).unwrap());
            prop_assert!(close(a.node(), b.node()));
            let labels = random_labels(seed, &data, i);
            prop_assert!(close(&[a.score(&labels)], &[b.score(&labels)]));
            let node = random_weights(seed ^ i as u64, a.node().len());
            plain.add_expected(i, &node, &[], 1.5, &mut of_plain, &mut one);
            bundled.add_expected(i, &node, &[], 1.5, &mut of_bundled, &mut other);
        }
        let (mut out_plain, mut out_bundled) = (vec![f64::NAN; map.len()], vec![f64::NAN; map.len()]);
        plain.unpack(&of_plain, &vec![0.0; plain.n_sums()], &mut out_plain);
        bundled.unpack(&of_bundled, &vec![0.0; bundled.n_sums()], &mut out_bundled);
        prop_assert!(close(&out_plain, &out_bundled));
    }
}

#[test]
fn a_bundled_scorer_cannot_be_shifted() {
    let data = tagged(1, 3);
    let fitted = features(r#"[{ state = "attributes" }]"#).fit(&data).unwrap();
    let x = fitted.encode(data.clone()).unwrap();
    let map = fitted.map(&x).unwrap();
    let labels = |label| vec![label; data.range(0).len()];
    let shift = |mut scorer: Scorer<'_>| scorer.shift(0, &labels(0), &labels(1), |_| 1.0, |_, _| ());
    shift(Scorer::new(&map, &x).unwrap());
    let bundled = Scorer::bundled(&map, &x).unwrap();
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| shift(bundled))).is_err());
}
