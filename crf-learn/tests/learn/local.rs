//! Classifiers of single positions against the equivalent models without edges.
#![cfg(feature = "linfa")]

use std::sync::Arc;

use crf_core::{Decode, Features, Label, Learner, Problem, Seed, Source as _, Stop, evaluate};
use crf_datasets::{CoupledChains, Ocr};
use crf_inference::JunctionTree;
use crf_learn::{Logistic, Minimisation, Mle, PseudoLikelihood, StopRule, Svc};
use crf_testing::cases;
use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::{INFERENCE, quiet};
use proptest::prelude::*;

const FEATURES: &str = r#"["intercept", "transition", {"state": "value"}, {"state": "equals"}]"#;
const TIGHT: StopRule = StopRule { iterations: 3000, tolerance: 1e-8, delta: 0.0, period: 10 };

/// One sequence of weight 1.
fn encoded(features: &str, length: usize, labels: usize, unlabelled: u32, seed: u64) -> Encoded {
    Encoded::new(features, data(&Draw { sequences: 1, length, labels, unlabelled, seed }))
}

fn weights(learner: &dyn Learner, problem: &Problem<'_>) -> (Vec<f64>, Stop) {
    let fit = quiet(1, |run| learner.fit(problem, run)).unwrap();
    (fit.model.log_linear().unwrap().weights().to_vec(), fit.trace.stop)
}

fn message(learner: &dyn Learner, encoded: &Encoded) -> String {
    quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap_err().to_string()
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn logistic_regression_is_likelihood_without_edges(seed in any::<u64>(), l2 in 0.05..5.0, exempt: bool) {
        let encoded = encoded(FEATURES, 60, 3, 0, seed);
        let problem = encoded.problem(&INFERENCE);
        let counts = (0..3).map(|y| encoded.corpus.data().labels().iter().filter(|label| **label == Some(y)).count());
        prop_assume!(counts.min() > Some(0));
        let learner = Logistic { l2, exempt_intercepts: exempt, tolerance: 1e-6, ..Logistic::default() };
        let (got, stop) = weights(&learner, &problem);
        prop_assert_eq!(stop, Stop::Converged);
        let n_state = encoded.map.state().len();
        prop_assert!(got[n_state..].iter().all(|w| *w == 0.0));
        let map = Arc::new(encoded.map.narrow(|k| k < n_state).0);
        let local = Problem { map: &map, ..problem };
        let minimisation = || Minimisation { l2, exempt_intercepts: exempt, stop: TIGHT, ..Minimisation::default() };
        for learner in [&Mle(minimisation()) as &dyn Learner, &PseudoLikelihood(minimisation())] {
            let (want, _) = weights(learner, &local);
            // Without a penalty on the intercepts only their differences are determined.
            let free = |w: &[f64], k: usize| if exempt && map.is_intercept(k) { w[k] - w[0] } else { w[k] };
            for k in 0..n_state {
                let (got, want) = (free(&got, k), free(&want, k));
                prop_assert!((got - want).abs() < 1e-3, "{}: {got} vs {want}", map.name(k));
            }
        }
    }

    #[test]
    fn no_step_away_from_the_planes_pays(seed in any::<u64>(), c in 0.05..3.0) {
        let encoded = encoded(r#"["intercept", {"state": "value"}]"#, 40, 3, 0, seed);
        let (w, _) = weights(&Svc { c, tolerance: 1e-6 }, &encoded.problem(&INFERENCE));
        let x = encoded.corpus.data().sequence(0);
        let mut rng = Seed::new(seed).child("directions").rng();
        for y in 0..3_usize {
            // b and w of label y; functions stand in the order of the features, labels within.
            let plane: [f64; 3] = std::array::from_fn(|g| w[g * 3 + y]);
            let objective = |plane: [f64; 3]| {
                let losses = (0..x.len()).map(|t| {
                    let side = if x.labels()[t] == Some(y as Label) { 1.0 } else { -1.0 };
                    let score = plane[0] + plane[1] * x.real(0)[t] + plane[2] * x.real(1)[t];
                    (1.0 - side * score).max(0.0)
                });
                0.5 * (plane[1].powi(2) + plane[2].powi(2)) + c * losses.sum::<f64>()
            };
            let least = objective(plane);
            for _ in 0..300 {
                let size = 10_f64.powf(rng.random_range(-4.0..0.0));
                let there = plane.map(|number| number + size * rng.random_range(-1.0..1.0));
                let value = objective(there);
                prop_assert!(value > least - 1e-4 * (1.0 + least), "{there:?}: {value}, {plane:?}: {least}");
            }
        }
    }
}

#[test]
fn every_kind_of_node_has_a_classifier() {
    let train = CoupledChains::default().load(&Seed::new(3)).unwrap().train;
    let encoded = Encoded::new(r#"["intercept", {"state": "value"}]"#, train);
    assert!(encoded.map.schema().kinds().len() > 1);
    let inference = JunctionTree::default();
    let problem = encoded.problem(&inference);
    let (got, _) = weights(&Logistic { l2: 0.5, tolerance: 1e-6, ..Logistic::default() }, &problem);
    let (want, _) = weights(&Mle(Minimisation { l2: 0.5, stop: TIGHT, ..Minimisation::default() }), &problem);
    assert!(got.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-3), "{got:?} vs {want:?}");
}

#[test]
fn a_warm_start_at_the_optimum_stays_there() {
    let encoded = encoded(FEATURES, 80, 3, 0, 5);
    for exempt_intercepts in [false, true] {
        let learner = Logistic { exempt_intercepts, tolerance: 1e-5, ..Logistic::default() };
        let first = quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap();
        let problem = Problem { start: Some(&*first.model), ..encoded.problem(&INFERENCE) };
        let (second, stop) = weights(&Logistic { iterations: 1, ..learner }, &problem);
        assert_eq!(stop, Stop::Converged);
        let first = first.model.log_linear().unwrap().weights();
        assert!(first.iter().zip(&second).all(|(a, b)| (a - b).abs() < 1e-6));
    }
}

#[test]
fn what_linfa_cannot_take_is_refused() {
    let whole = encoded(FEATURES, 30, 3, 0, 1);
    let two =
        Encoded::new(FEATURES, data(&Draw { sequences: 2, length: 9, labels: 2, unlabelled: 0, seed: 1 }));
    let error = message(&Logistic::default(), &two);
    assert!(error.contains("weights must be whole, got 1.5 for sequence 2; `mle` takes any"), "{error}");
    let error = message(&Svc::default(), &encoded(FEATURES, 30, 3, 5, 1));
    assert!(error.contains("`svc` needs all of them"), "{error}");
    let error = message(&Svc::default(), &encoded(r#"[{"state": "value"}]"#, 30, 3, 0, 1));
    assert!(error.contains("`svc` needs `intercept` among the features"), "{error}");
    let error = message(&Logistic::default(), &encoded(FEATURES, 2, 3, 0, 1));
    assert!(
        error.contains("`logistic` needs every label in the training data, but not one is `L"),
        "{error}"
    );
    let observed = encoded(r#"["intercept", {"state": "equals", "pairs": "observed"}]"#, 9, 3, 0, 1);
    let error = message(&Logistic::default(), &observed);
    assert!(error.ends_with("has only some; use `pairs = \"all\"`"), "{error}");
    let error = message(&Svc::default(), &encoded(FEATURES, 8193, 2, 0, 1));
    assert!(error.contains("8193 positions with 5 functions would have 67125249 numbers"), "{error}");
    weights(&Svc::default(), &whole.problem(&INFERENCE));
}

#[test]
fn a_label_that_never_occurs_is_never_given() {
    let encoded = encoded(FEATURES, 4, 5, 0, 2);
    let fit = quiet(1, |run| Svc::default().fit(&encoded.problem(&INFERENCE), run)).unwrap();
    let given = evaluate(&*fit.model, &encoded.corpus, &INFERENCE, Decode::Viterbi).unwrap();
    assert!(given.predicted.iter().all(|&label| encoded.corpus.data().labels().contains(&Some(label))));
}

#[test]
#[ignore = "needs CRF_DATA"]
fn letters_are_read_one_by_one() {
    let splits = Ocr::default().load(&Seed::new(1)).unwrap();
    let features: Features = serde_json::from_str(r#"["intercept", {"state": "attributes"}]"#).unwrap();
    let fitted = features.fit(&splits.train).unwrap();
    let [train, test] = [splits.train, splits.test].map(|data| fitted.encode(Arc::new(data)).unwrap());
    let map = Arc::new(fitted.map(&train).unwrap());
    let problem = Problem::new(&train, &map, &INFERENCE);
    let learners: [(Box<dyn Learner>, f64); 2] = [
        (Box::new(Mle(Minimisation { l2: 10.0, ..Minimisation::default() })), 0.70),
        (Box::new(Logistic { l2: 10.0, ..Logistic::default() }), 0.70),
    ];
    for (learner, least) in learners {
        let began = std::time::Instant::now();
        let fit = quiet(1, |run| learner.fit(&problem, run)).unwrap();
        let seconds = began.elapsed().as_secs_f64();
        let answers = evaluate(&*fit.model, &test, &INFERENCE, Decode::Viterbi).unwrap();
        let right = answers.pairs().filter(|(truth, predicted)| truth == predicted).count();
        let share = right as f64 / answers.predicted.len() as f64;
        println!(
            "{learner:?}: {share:.4} in {seconds:.1} s, {}, {:?}",
            fit.trace.stop,
            fit.trace.iterations.last()
        );
        assert!(share >= least, "{learner:?}: {share}");
    }
}
