//! Log probability of known labels, whatever is known.
use std::sync::Arc;

use crf_core::{
    Constrained, Constraints, DatasetBuilder, Decode, LogLinear, Model as _, Scratch, evaluate, oracle,
};
use crf_testing::cases;
use crf_testing::datasets::{features, labelled, random_weights};
use crf_testing::runs::INFERENCE;
use proptest::prelude::*;

const LABELS: [&str; 3] = ["a", "b", "c"];

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn log_p_of_known_labels_is_minus_infinity_or_at_most_0(
        seed: u64,
        scale in prop_oneof![Just(1.0), Just(1e3)],
        sequences in prop::collection::vec(
            prop::collection::vec(prop_oneof![Just("a"), Just("b"), Just("c"), Just("?"), Just("x")], 0..5), 1..4),
    ) {
        let schema = labelled(&LABELS, &["a b c"]).schema().clone();
        let mut data = DatasetBuilder::new(schema.clone());
        for sequence in &sequences {
            for &name in sequence {
                let label = (name != "?").then(|| data.label(name));
                data.push(&[], label).unwrap();
            }
            data.end_chain().unwrap();
        }
        let fitted = features(r#"["intercept", "transition", "start"]"#);
        let fitted = fitted.fit(&labelled(&LABELS, &["a b c"])).unwrap();
        let x = fitted.encode(Arc::new(data.finish())).unwrap();
        let map = Arc::new(fitted.map(&x).unwrap());
        let weights = random_weights(seed, map.len()).into_iter().map(|w| w * scale).collect();
        let forbid = [("a", "b"), ("b", "c"), ("c", "c")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        let rules = Constraints {
            forbid: forbid.to_vec(),
            never_first: vec!["c".to_owned()],
            ..Constraints::default()
        };
        let model = LogLinear::new(map, weights).unwrap();
        let model = Constrained::new(Box::new(model), rules.resolve(&schema).unwrap());
        let found = evaluate(&model, &x, &INFERENCE, Decode::Posterior).unwrap();
        let found = found.probabilities.unwrap().log_likelihood;
        let bound = model.bind(&x).unwrap();
        let mut scratch = Scratch::new();
        for (i, sequence) in sequences.iter().enumerate() {
            let p = bound.fill(i, &mut scratch).unwrap();
            let agrees = |labels: &[u32]| {
                sequence.iter().zip(labels).all(|(&name, &y)| name == "?" || name == LABELS[y as usize])
            };
            let want = oracle::probability(&p, agrees);
            let got = found[i];
            prop_assert!(got == f64::NEG_INFINITY || got <= 0.0, "{got}");
            prop_assert!((got.exp() - want).abs() < 1e-9, "{} and {want}: {sequence:?}", got.exp());
        }
    }
}
