//! AROW against a dense reference that keeps every weight and variance, and against CRFsuite.

use crf_core::{
    Alphabet, Channel, ChannelKind, DatasetBuilder, Inference as _, Label, Learner as _, LogLinear, Problem,
    Schema, Scratch, Seed, Source as _, Stop, Value,
};
use crf_datasets::Separable;
use crf_learn::{Arow, Scorer};
use crf_testing::cases;
use crf_testing::problems::{Draw, Encoded, data, random_weights};
use crf_testing::runs::{INFERENCE, quiet, trained};
use proptest::prelude::*;
use rand::seq::SliceRandom as _;

const FEATURES: [&str; 3] = [
    r#"["intercept", "transition", "start", {"state": "value"}]"#,
    // Without values, labellings with the same features score the same, and rounding decides
    // between them.
    r#"["transition", {"state": "equals", "pairs": "observed"}, {"state": "value"}, {"transition": {"type": "lag", "by": [1], "of": "equals"}}]"#,
    r#"["intercept", {"state": "equals"}, "transition", {"transition": "value"}]"#,
];

fn weights(learner: &Arow, problem: &Problem<'_>) -> Vec<f64> {
    let fit = quiet(5, |run| learner.fit(problem, run)).unwrap();
    fit.model.log_linear().unwrap().weights().to_vec()
}

/// The algorithm as it is documented, on dense vectors: weights, and their average over all turns.
fn reference(learner: &Arow, problem: &Problem<'_>) -> [Vec<f64>; 2] {
    let data = problem.train.data();
    let dim = problem.map.len();
    let mut scorer = Scorer::new(problem.map, problem.train).unwrap();
    let mut w = problem.start_weights().unwrap();
    let mut v = vec![learner.variance; dim];
    let mut sum = vec![0.0; dim];
    let mut turns = 0.0;
    let mut rng = Seed::new(5).child("order").rng();
    let mut order: Vec<usize> = (0..data.len()).collect();
    for _ in 0..learner.epochs {
        order.shuffle(&mut rng);
        let mut is_clean = true;
        for &i in &order {
            scorer.update(&w);
            let truth: Vec<Label> = data.labels()[data.range(i)].iter().map(|label| label.unwrap()).collect();
            let mut found = truth.clone();
            let (mut memory, mut scratch) = (Scratch::new(), Scratch::new());
            INFERENCE.decode(&scorer.fill(i, &mut memory).unwrap(), &mut found, &mut scratch).unwrap();
            let n_wrong = found.iter().zip(&truth).filter(|(found, truth)| found != truth).count();
            if n_wrong > 0 {
                is_clean = false;
                let mut x = vec![0.0; dim];
                scorer.add_features(i, &truth, 1.0, &mut x);
                scorer.add_features(i, &found, -1.0, &mut x);
                let r = learner.gamma / data.weight(i);
                let lead: f64 = w.iter().zip(&x).map(|(w, x)| w * x).sum();
                let confidence: f64 = v.iter().zip(&x).map(|(v, x)| v * x * x).sum();
                let alpha = (n_wrong as f64 - lead) / (confidence + r);
                for k in 0..dim {
                    w[k] += alpha * v[k] * x[k];
                    v[k] = (v[k].recip() + x[k] * x[k] / r).recip();
                }
            }
            sum.iter_mut().zip(&w).for_each(|(sum, w)| *sum += w);
            turns += 1.0;
        }
        if is_clean {
            break;
        }
    }
    let average = sum.iter().map(|sum| sum / turns).collect();
    [w, average]
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn sparse_updates_are_those_of_the_dense_algorithm(
        seed in any::<u64>(), labels in 2..7_usize, features in 0..FEATURES.len(), epochs in 1..4_u32,
        variance in 0.1..4.0_f64, gamma in 0.1..4.0_f64, average: bool,
    ) {
        let draw = Draw { sequences: 6, length: 8, labels, unlabelled: 0, seed };
        let encoded = Encoded::new(FEATURES[features], data(&draw));
        // From random weights, under which no two labellings score the same: rounding would decide
        // between these.
        let start = LogLinear::new(encoded.map.clone(), random_weights(&encoded.map, 0.1, seed)).unwrap();
        let problem = Problem { start: Some(&start), ..encoded.problem(&INFERENCE) };
        let learner = Arow { variance, gamma, epochs, average, patience: 0 };
        let got = weights(&learner, &problem);
        let want = &reference(&learner, &problem)[usize::from(average)];
        for (k, (got, want)) in got.iter().zip(want).enumerate() {
            prop_assert!((got - want).abs() <= 1e-9 * (1.0 + want.abs()), "{}: {got} vs {want}", encoded.map.name(k));
        }
    }
}

/// Weights of python-crfsuite 0.9.12 with variance 2 and gamma 0.5, after one and after two epochs
/// on one sequence.
#[test]
fn weights_are_those_of_crfsuite() {
    let channel = |name: &str| Channel { name: name.into(), kind: ChannelKind::Real };
    let schema = Schema::chain(["a", "b", "c"].map(channel).to_vec(), Alphabet::new(["X", "Y"])).unwrap();
    let mut builder = DatasetBuilder::new(schema.into());
    for (values, label) in [([1.0, 0.0, 0.0], 0), ([0.0, 1.0, 0.0], 1), ([1.0, 0.0, 1.0], 1)] {
        builder.push(&values.map(Value::Real), Some(label)).unwrap();
    }
    builder.end_chain().unwrap();
    let features = r#"[{"state": "value", "pairs": "observed"}, {"transition": "one", "pairs": "observed"}]"#;
    let encoded = Encoded::new(features, builder.finish());
    let names: Vec<String> = (0..encoded.map.len()).map(|k| encoded.map.name(k)).collect();
    let first = [-0.32, 0.32, 0.32, 0.32, 0.32, 0.32];
    let second = [-0.007619, 0.007619, 0.32, 0.32, 0.632381, 0.007619];
    for (epochs, want) in [(1, first), (2, second)] {
        let learner = Arow { variance: 2.0, gamma: 0.5, epochs, average: false, patience: 0 };
        let got = weights(&learner, &encoded.problem(&INFERENCE));
        assert!(
            got.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-6),
            "{got:?} vs {want:?}: {names:?}"
        );
    }
}

#[test]
fn threads_change_nothing() {
    let draw = Draw { sequences: 30, length: 20, labels: 5, unlabelled: 0, seed: 3 };
    let encoded = Encoded::new(FEATURES[0], data(&draw));
    let (valid, problem) =
        (Encoded::new(FEATURES[0], data(&Draw { seed: 4, ..draw })), encoded.problem(&INFERENCE));
    let problem = Problem { valid: Some(&valid.corpus), ..problem };
    let learner = Arow { epochs: 8, patience: 3, ..Arow::default() };
    assert_eq!(trained(&learner, &problem, 1, 2), trained(&learner, &problem, 3, 2));
}

#[test]
fn a_sequence_of_weight_c_is_learnt_with_gamma_over_c() {
    let draw = Draw { sequences: 12, length: 10, labels: 4, unlabelled: 0, seed: 8 };
    let weighted = |factor: f64| Encoded::new(FEATURES[0], data(&draw).reweighted(|_| factor).unwrap());
    let learner = Arow { gamma: 1.0, epochs: 5, ..Arow::default() };
    let heavy = weights(&learner, &weighted(4.0).problem(&INFERENCE));
    let small_gamma = Arow { gamma: 0.25, ..learner };
    assert_eq!(heavy, weights(&small_gamma, &weighted(1.0).problem(&INFERENCE)));
    assert_ne!(heavy, weights(&learner, &weighted(1.0).problem(&INFERENCE)));
}

#[test]
fn data_that_can_be_separated_end_in_a_clean_epoch() {
    let source = Separable { margin: 0.02, ..Separable::default() };
    let encoded = Encoded::new(r#"[{"state": "value"}]"#, source.load(&Seed::new(1)).unwrap().train);
    let learner = Arow { epochs: 500, ..Arow::default() };
    let fit = quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap();
    assert_eq!(fit.trace.stop, Stop::Converged);
    assert_eq!(fit.trace.iterations.last().unwrap().objective, 0.0);
}
