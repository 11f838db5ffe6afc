//! A hidden Markov model and the CRF it is converted to have the same posteriors.

use std::sync::Arc;

use crf_core::{
    Beliefs, EdgeBeliefs, EncodedDataset, Features, Inference as _, Learner as _, Model, Problem, Scratch,
};
use crf_learn::{Emission, Hmm, HmmModel};
use crf_testing::cases;
use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::{INFERENCE, quiet};
use crf_testing::warnings;
use proptest::prelude::*;

fn features(list: &str) -> Features {
    serde_json::from_str(list).unwrap()
}

/// Trains a hidden Markov model and encodes the data for it and for a CRF with the given features.
fn both(
    draw: &Draw,
    hmm: &Hmm,
    emitted: &str,
    crf: &str,
) -> ((HmmModel, EncodedDataset), (Box<dyn Model>, EncodedDataset)) {
    let train = Arc::new(data(draw));
    let fitted = features(emitted).fit(&train).unwrap();
    let corpus = fitted.encode(train.clone()).unwrap();
    let map = Arc::new(fitted.map(&corpus).unwrap());
    let problem = Problem::new(&corpus, &map, &INFERENCE);
    let fit = quiet(1, |run| hmm.fit(&problem, run)).unwrap();
    let json = serde_json::to_value(&fit.model).unwrap();
    let mut model: HmmModel = serde_json::from_value(json).unwrap();
    model.restore(&fitted).unwrap();
    let fitted = features(crf).fit(&train).unwrap();
    let crf_corpus = fitted.encode(train).unwrap();
    let crf = model.to_crf(Arc::new(fitted.map(&crf_corpus).unwrap())).unwrap();
    ((model, corpus), (Box::new(crf), crf_corpus))
}

/// Node marginals of all positions.
fn posteriors(model: &dyn Model, corpus: &EncodedDataset) -> Vec<f64> {
    let bound = model.bind(corpus).unwrap();
    let (mut buffer, mut scratch, mut all) = (Scratch::new(), Scratch::new(), Vec::new());
    for i in 0..corpus.len() {
        let p = bound.fill(i, &mut buffer).unwrap();
        let mut node = vec![0.0; p.node().len()];
        INFERENCE.infer(&p, &mut Beliefs { node: &mut node, edge: EdgeBeliefs::None }, &mut scratch).unwrap();
        all.extend(node);
    }
    all
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn converted_models_have_the_same_posteriors(
        sequences in 1..5_usize, length in 3..20_usize, labels in 1..4_usize, seed in any::<u64>(), smoothing in 0.1..2.0, sigma_scale in 0.5..3.0,
    ) {
        let draw = Draw { sequences, length, labels, unlabelled: 0, seed };
        let tests = r#"{"state": {"type": "threshold", "at": [0.0, 0.5]}}"#;
        let cases = [
            (Emission::Gaussian, r#"[{"state": "value"}]"#.to_owned(),
             r#"["intercept", "start", "transition", {"state": "value"}, {"state": "power"}]"#.to_owned()),
            (Emission::Bernoulli, format!("[{tests}]"), format!(r#"["intercept", "start", "transition", {tests}]"#)),
            (Emission::Categorical, r#"[{"state": "equals"}]"#.to_owned(),
             r#"["intercept", "start", "transition", {"state": "equals"}]"#.to_owned()),
        ];
        for (emission, emitted, crf) in cases {
            let hmm = Hmm { emission, smoothing, sigma_scale, ..Hmm::default() };
            let ((model, corpus), (crf, crf_corpus)) = both(&draw, &hmm, &emitted, &crf);
            let (a, b) = (posteriors(&model, &corpus), posteriors(&*crf, &crf_corpus));
            prop_assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9), "{emission:?}: {a:?} vs {b:?}");
        }
    }
}

/// Parameters of a model by name.
fn parameters(draw: &Draw, hmm: &Hmm, emitted: &str) -> Vec<(String, f64)> {
    let crf = r#"["intercept", "start", "transition", {"state": "value"}, {"state": "power"}, {"state": "equals"}]"#;
    let ((model, _), _) = both(draw, hmm, emitted, crf);
    let mut all = Vec::new();
    model.describe(usize::MAX, &mut |name, value| all.push((name.to_owned(), value)));
    all
}

#[test]
fn distributions_stay_normalised_even_for_labels_never_seen() {
    // Three labels, but one position: two labels and all transitions have no counts.
    let draw = Draw { sequences: 1, length: 1, labels: 3, unlabelled: 0, seed: 1 };
    for smoothing in [0.0, 0.5] {
        let hmm = Hmm { emission: Emission::Categorical, smoothing, ..Hmm::default() };
        let all = parameters(&draw, &hmm, r#"[{"state": "equals"}]"#);
        for sum_of in ["log p(first", "y'=L0)", "y'=L1)", "y'=L2)", "y=L0 ∧ word", "y=L2 ∧ word"] {
            let sum: f64 =
                all.iter().filter(|(name, _)| name.contains(sum_of)).map(|(_, value)| value.exp()).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{sum_of} sums to {sum}");
        }
    }
}

#[test]
fn functions_without_a_feature_are_not_emitted() {
    let train = Arc::new(data(&Draw { sequences: 4, length: 30, labels: 3, unlabelled: 0, seed: 7 }));
    let fitted = features(r#"[{"state": "value"}]"#).fit(&train).unwrap();
    let all = fitted.encode(train).unwrap();
    let map = fitted.map(&all).unwrap();
    let first = map.state().range(0).end;
    let map = Arc::new(map.narrow(|k| k < first).0);
    let some = all.restricted(&map);
    let [of_all, of_some] = [&all, &some].map(|corpus| {
        let problem = Problem::new(corpus, &map, &INFERENCE);
        let fit = quiet(1, |run| Hmm::default().fit(&problem, run)).unwrap();
        [&all, &some].map(|corpus| posteriors(&*fit.model, corpus))
    });
    assert_eq!(of_all, of_some);
    assert_eq!(of_all[0], of_all[1]);
    assert!(map.state().n_observations() > 1 && of_all[0].iter().any(|p| (p - 1.0 / 3.0).abs() > 0.05));
}

#[test]
fn gaussians_without_smoothing_are_maximum_likelihood() {
    let draw = Draw { sequences: 3, length: 40, labels: 2, unlabelled: 0, seed: 6 };
    let all = parameters(&draw, &Hmm { smoothing: 0.0, ..Hmm::default() }, r#"[{"state": "value"}]"#);
    let train = data(&draw);
    let (mut n, mut sum, mut square) = (0.0, 0.0, 0.0);
    for i in 0..train.len() {
        let sequence = train.sequence(i);
        for (x, y) in sequence.real(0).iter().zip(sequence.labels()).filter(|(_, y)| **y == Some(1)) {
            assert_eq!(*y, Some(1));
            n += train.weight(i);
            sum += train.weight(i) * x;
            square += train.weight(i) * x * x;
        }
    }
    let get = |name: &str| all.iter().find(|(other, _)| other == name).unwrap().1;
    assert!((get("mean of x given y=L1") - sum / n).abs() < 1e-9);
    assert!((get("deviation of x given y=L1") - (square / n - (sum / n).powi(2)).sqrt()).abs() < 1e-9);
}

#[test]
fn unlabelled_positions_and_wrong_values_are_refused() {
    let fit = |draw: &Draw, hmm: &Hmm| {
        let train = Arc::new(data(draw));
        let fitted = features(r#"[{"state": "value"}]"#).fit(&train).unwrap();
        let corpus = fitted.encode(train).unwrap();
        let map = Arc::new(fitted.map(&corpus).unwrap());
        let problem = Problem::new(&corpus, &map, &INFERENCE);
        quiet(1, |run| hmm.fit(&problem, run)).unwrap_err().to_string()
    };
    let draw = Draw { sequences: 1, length: 9, labels: 2, unlabelled: 5, seed: 1 };
    assert_eq!(fit(&draw, &Hmm::default()), "`hmm` needs a label at every position; `mle` does not");
    let bernoulli = Hmm { emission: Emission::Bernoulli, ..Hmm::default() };
    let message = fit(&Draw { unlabelled: 0, ..draw }, &bernoulli);
    assert!(message.starts_with("sequence 1, position 1: `x` is "), "{message}");
    assert!(message.ends_with("but this emission needs 0 or 1; use `gaussian`"), "{message}");
}

#[test]
fn gaussians_of_tests_are_warned_of() {
    let said = |features: &str, emission| {
        let draw = Draw { sequences: 3, length: 9, labels: 2, unlabelled: 0, seed: 1 };
        let encoded = Encoded::new(features, data(&draw));
        let hmm = Hmm { emission, ..Hmm::default() };
        let (fit, warnings) = warnings(|| quiet(1, |run| hmm.fit(&encoded.problem(&INFERENCE), run)));
        fit.unwrap();
        warnings.iter().any(|text| text.contains("`emission = \"bernoulli\"` is made for them"))
    };
    let tests = r#"[{"state": "equals"}]"#;
    assert!(said(tests, Emission::Gaussian) && !said(tests, Emission::Bernoulli));
    assert!(!said(r#"[{"state": "value"}]"#, Emission::Gaussian));
}
