//! The perceptron against a plain one that keeps every weight vector, and its stopping rules.

use crf_core::{Constraints, Inference as _, Label, Learner as _, Problem, Scratch, Seed, Source as _, Stop};
use crf_datasets::Separable;
use crf_learn::{Minimisation, Mle, Perceptron, Scorer};
use crf_testing::cases;
use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::{INFERENCE, quiet};
use proptest::prelude::*;
use rand::seq::SliceRandom as _;

const FEATURES: [&str; 3] = [
    r#"["intercept", "transition", "start", {"state": "value"}]"#,
    r#"["transition", {"state": "equals", "pairs": "observed"}, {"transition": {"type": "lag", "by": [1], "of": "equals"}}]"#,
    r#"["intercept", {"state": "equals"}, "transition", {"transition": "value"}]"#,
];

fn weights(learner: &Perceptron, problem: &Problem<'_>) -> (Vec<f64>, Stop) {
    let fit = quiet(5, |run| learner.fit(problem, run)).unwrap();
    (fit.model.log_linear().unwrap().weights().to_vec(), fit.trace.stop)
}

/// The algorithm of Collins as in the paper: all weights are recomputed for each sequence, and all
/// weight vectors summed.
fn plainly(epochs: u32, average: bool, problem: &Problem<'_>) -> Vec<f64> {
    let data = problem.train.data();
    let mut scorer = Scorer::new(problem.map, problem.train).unwrap();
    let (mut w, mut sum, mut turns) = (vec![0.0; problem.map.len()], vec![0.0; problem.map.len()], 0.0);
    let mut rng = Seed::new(5).child("order").rng();
    let mut order: Vec<usize> = (0..data.len()).collect();
    for _ in 0..epochs {
        order.shuffle(&mut rng);
        let mut wrong = false;
        for &i in &order {
            scorer.update(&w);
            let truth: Vec<Label> = data.labels()[data.range(i)].iter().map(|label| label.unwrap()).collect();
            let (mut found, mut memory, mut scratch) = (truth.clone(), Scratch::new(), Scratch::new());
            let p = scorer.fill(i, &mut memory).unwrap();
            INFERENCE.decode(&p, &mut found, &mut scratch).unwrap();
            wrong |= found != truth;
            let mut change = vec![0.0; w.len()];
            scorer.add_features(i, &truth, data.weight(i), &mut change);
            scorer.add_features(i, &found, -data.weight(i), &mut change);
            // Rounding where both agree would decide between labellings with equal scores.
            let change = change.iter().map(|change| if change.abs() < 1e-12 { 0.0 } else { *change });
            w.iter_mut().zip(change).for_each(|(w, change)| *w += change);
            sum.iter_mut().zip(&w).for_each(|(sum, w)| *sum += w);
            turns += 1.0;
        }
        if !wrong {
            break;
        }
    }
    if average { sum.iter().map(|sum| sum / turns).collect() } else { w }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn sparse_updates_are_those_of_the_plain_algorithm(
        seed in any::<u64>(), labels in 2..7_usize, features in 0..FEATURES.len(), epochs in 1..4_u32, average: bool,
    ) {
        let draw = Draw { sequences: 6, length: 8, labels, unlabelled: 0, seed };
        let encoded = Encoded::new(FEATURES[features], data(&draw));
        let problem = encoded.problem(&INFERENCE);
        let (got, _) = weights(&Perceptron { epochs, average, patience: 0 }, &problem);
        let want = plainly(epochs, average, &problem);
        for (k, (got, want)) in got.iter().zip(&want).enumerate() {
            prop_assert!((got - want).abs() <= 1e-9 * (1.0 + want.abs()), "{}: {got} vs {want}", encoded.map.name(k));
        }
    }
}

#[test]
fn data_that_can_be_separated_end_in_a_clean_epoch() {
    let draw = Draw { sequences: 3, length: 4, labels: 2, unlabelled: 0, seed: 2 };
    let encoded = Encoded::new(r#"["transition", {"state": "value"}, "start"]"#, data(&draw));
    let learner = Perceptron { epochs: 2000, average: false, patience: 0 };
    let fit = quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap();
    assert_eq!(fit.trace.stop, Stop::Converged);
    assert_eq!(fit.trace.iterations.last().unwrap().objective, 0.0);
}

#[test]
fn mistakes_on_separable_data_stay_below_their_bound() {
    for (seed, margin) in [(1, 0.02), (2, 0.005), (3, 0.002)] {
        let source = Separable { margin, ..Separable::default() };
        let encoded = Encoded::new(r#"[{"state": "value"}]"#, source.load(&Seed::new(seed)).unwrap().train);
        // A sequence with any number of mistakes is one mistake of the bound; at worst each
        // position is one.
        let bound = (2.0 * source.radius / margin).powi(2);
        let learner = Perceptron { epochs: bound as u32 + 1, average: false, patience: 0 };
        let fit = quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap();
        let wrong: f64 = fit.trace.iterations.iter().map(|iteration| iteration.objective).sum();
        assert_eq!(fit.trace.stop, Stop::Converged);
        assert!(wrong <= bound, "{wrong} positions were wrong, {bound} is the bound");
    }
}

#[test]
fn positions_without_labels_are_refused() {
    let draw = Draw { sequences: 3, length: 9, labels: 2, unlabelled: 5, seed: 2 };
    let encoded = Encoded::new(FEATURES[0], data(&draw));
    let error =
        quiet(1, |run| Perceptron::default().fit(&encoded.problem(&INFERENCE), run)).unwrap_err().to_string();
    assert!(error.contains("a position has no label, and `perceptron` needs all of them"), "{error}");
}

#[test]
fn patience_keeps_the_weights_that_did_best_on_the_validation_data() {
    let draw = Draw { sequences: 5, length: 12, labels: 3, unlabelled: 0, seed: 4 };
    let features = r#"["transition", {"state": "value"}, {"state": {"type": "power", "degrees": [2, 3]}}]"#;
    let encoded = Encoded::new(features, data(&draw));
    let valid = Encoded::new(features, data(&Draw { seed: 9, ..draw }));
    let problem = Problem { valid: Some(&valid.corpus), ..encoded.problem(&INFERENCE) };
    let perceptron = Perceptron { epochs: 200, average: true, patience: 3 };
    let mle = Mle(Minimisation { patience: 2, ..Minimisation::default() });
    for learner in [&perceptron as &dyn crf_core::Learner, &mle] {
        let fit = quiet(1, |run| learner.fit(&problem, run)).unwrap();
        assert_eq!(fit.trace.stop, Stop::Holdout);
        let losses: Vec<f64> =
            fit.trace.iterations.iter().map(|iteration| iteration.holdout.unwrap()).collect();
        let best = losses.iter().copied().fold(f64::INFINITY, f64::min);
        let since = losses.iter().rev().take_while(|&&loss| loss >= best).count();
        let first = losses.iter().position(|&loss| loss == best).unwrap();
        assert!(first + 1 < losses.len() && since >= 2, "{losses:?}");
        // The model is that of the best iteration, not of the last.
        let evaluation =
            crf_core::evaluate(&*fit.model, &valid.corpus, &INFERENCE, crf_core::Decode::Viterbi).unwrap();
        let wrong = evaluation.pairs().filter(|(truth, predicted)| truth != predicted).count() as f64;
        let weighted = |i: usize, log_likelihood: &f64| -valid.corpus.data().weight(i) * log_likelihood;
        let log_likelihood = &evaluation.probabilities().unwrap().log_likelihood;
        let loss: f64 = log_likelihood.iter().enumerate().map(|(i, l)| weighted(i, l)).sum();
        assert!(wrong == best || (loss - best).abs() < 1e-9 * best, "{wrong} or {loss} vs {best}");
    }
}

#[test]
fn training_labels_that_break_the_constraints_are_refused() {
    let draw = Draw { sequences: 20, length: 15, labels: 3, unlabelled: 0, seed: 6 };
    let encoded = Encoded::new(r#"["intercept", "transition", {"state": "equals"}]"#, data(&draw));
    let broken = Constraints { forbid: vec![("L0".into(), "L0".into())], ..Constraints::default() };
    let forbidden = broken.resolve(encoded.corpus.data().schema()).unwrap();
    let problem = Problem { forbidden: Some(&forbidden), ..encoded.problem(&INFERENCE) };
    for learner in [&Mle::default() as &dyn crf_core::Learner, &Perceptron::default()] {
        let error = quiet(1, |run| learner.fit(&problem, run)).unwrap_err().to_string();
        assert!(error.contains("`L0` may not follow `L0`, say the constraints"), "{error}");
    }
}
