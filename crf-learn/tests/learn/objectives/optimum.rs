//! Trained weights against conditions that only an optimum fulfils.

use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::{INFERENCE, quiet};
use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{FitContext, Iteration, Learner, Problem, Seed, Stop};
use crf_learn::{
    Lbfgs, LikelihoodObjective, MEstimator, Minimisation, Mle, Optimizer, OwlQn, ProjectedCg,
    PseudoLikelihood, Sharded, StopRule,
};
use crf_testing::cases;
use proptest::prelude::*;

const FEATURES: &str = r#"["intercept", "transition", {"state": "value"}, {"state": "equals"}]"#;
const TIGHT: StopRule = StopRule { iterations: 3000, tolerance: 1e-7, delta: 0.0, period: 10 };

fn encoded(seed: u64, labels: usize) -> Encoded {
    Encoded::new(FEATURES, data(&Draw { sequences: 6, length: 25, labels, unlabelled: 0, seed }))
}

/// Weights that `learner` finds, and the gradient of the likelihood there.
fn train(learner: &Mle, encoded: &Encoded) -> (Vec<f64>, Vec<f64>, Stop) {
    let problem = encoded.problem(&INFERENCE);
    let fit = quiet(1, |run| learner.fit(&problem, run)).unwrap();
    let w = fit.model.log_linear().unwrap().weights().to_vec();
    let mut gradient = vec![0.0; w.len()];
    Sharded::new(LikelihoodObjective::new(&problem).unwrap()).evaluate(&w, &mut gradient).unwrap();
    (w, gradient, fit.trace.stop)
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn lbfgs_ends_where_the_gradient_vanishes(seed in any::<u64>(), labels in 2..4_usize, l2 in 0.01..10.0, exempt: bool) {
        let encoded = encoded(seed, labels);
        let learner = Mle(Minimisation { l2, exempt_intercepts: exempt, stop: TIGHT, ..Minimisation::default() });
        let (w, gradient, stop) = train(&learner, &encoded);
        prop_assert!(matches!(stop, Stop::Converged | Stop::NoProgress), "{stop:?}");
        for k in 0..w.len() {
            let spared = exempt && encoded.map.is_intercept(k);
            let slope = gradient[k] + if spared { 0.0 } else { l2 * w[k] };
            prop_assert!(slope.abs() < 1e-4, "{}: {slope}", encoded.map.name(k));
        }
    }

    #[test]
    fn sparse_minima_are_where_the_subgradient_holds_zero(
        seed in any::<u64>(), cg: bool, labels in 2..4_usize, l1 in 0.1..8.0, l2 in prop_oneof![Just(0.0), 0.01..2.0], exempt: bool,
    ) {
        let encoded = encoded(seed, labels);
        let optimizer: Option<Box<dyn Optimizer>> =
            if cg { Some(Box::<ProjectedCg>::default()) } else { Some(Box::<OwlQn>::default()) };
        let learner = Mle(Minimisation { l1, l2, exempt_intercepts: exempt, optimizer, stop: TIGHT, ..Minimisation::default() });
        // With a penalty this small the last digits can take longer than the budget; the conditions
        // hold all the same.
        let (w, gradient, _) = train(&learner, &encoded);
        for k in 0..w.len() {
            let spared = exempt && encoded.map.is_intercept(k);
            let (l1, l2) = if spared { (0.0, 0.0) } else { (l1, l2) };
            let slope = gradient[k] + l2 * w[k];
            let off = if w[k] == 0.0 { (slope.abs() - l1).max(0.0) } else { (slope + l1 * w[k].signum()).abs() };
            prop_assert!(off < 1e-3, "{}: weight {} slope {slope} l1 {l1}", encoded.map.name(k), w[k]);
        }
    }
}

#[test]
fn both_optimizers_agree_without_an_l1_penalty() {
    let encoded = encoded(5, 3);
    let learner = |optimizer| {
        Mle(Minimisation { l2: 0.5, optimizer: Some(optimizer), stop: TIGHT, ..Minimisation::default() })
    };
    let (a, ..) = train(&learner(Box::<Lbfgs>::default()), &encoded);
    let (b, ..) = train(&learner(Box::<OwlQn>::default()), &encoded);
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-4));
}

#[test]
fn projected_gradients_end_where_owl_qn_does() {
    let encoded = encoded(6, 3);
    // With both penalties the minimum is unique.
    let learner = |optimizer: Box<dyn Optimizer>| {
        Mle(Minimisation {
            l1: 1.5,
            l2: 0.1,
            optimizer: Some(optimizer),
            stop: TIGHT,
            ..Minimisation::default()
        })
    };
    let (a, ..) = train(&learner(Box::<OwlQn>::default()), &encoded);
    let (b, ..) = train(&learner(Box::<ProjectedCg>::default()), &encoded);
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-3), "{a:?} vs {b:?}");
    assert!(a.contains(&0.0) && a.iter().zip(&b).all(|(a, b)| (*a == 0.0) == (*b == 0.0)), "{a:?} vs {b:?}");
}

/// Weights of a learner of two stages: the first is the model without edges, the second the optimum
/// given its weights.
fn two_stages(of: impl Fn(Minimisation) -> Box<dyn Learner>, exact: bool) {
    let encoded = encoded(8, 3);
    let problem = encoded.problem(&INFERENCE);
    let minimisation =
        |two_stage| Minimisation { l2: 0.5, two_stage, stop: TIGHT, ..Minimisation::default() };
    let weights = |two_stage, problem: &Problem<'_>| -> Vec<f64> {
        let fit = quiet(1, |run| of(minimisation(two_stage)).fit(problem, run)).unwrap();
        fit.model.log_linear().unwrap().weights().to_vec()
    };
    let n_state = encoded.map.state().len();
    let map = Arc::new(encoded.map.narrow(|k| k < n_state).0);
    let local = weights(false, &Problem { map: &map, ..problem });
    let w = weights(true, &problem);
    assert!(local.iter().zip(&w).all(|(a, b)| (a - b).abs() < 1e-4), "{local:?} vs {w:?}");
    assert!(w[n_state..].iter().any(|w| w.abs() > 0.1), "{w:?}");
    if exact {
        let mut gradient = vec![0.0; w.len()];
        Sharded::new(LikelihoodObjective::new(&problem).unwrap()).evaluate(&w, &mut gradient).unwrap();
        assert!((n_state..w.len()).all(|k| (gradient[k] + 0.5 * w[k]).abs() < 1e-4), "{gradient:?}");
        assert!((0..n_state).any(|k| (gradient[k] + 0.5 * w[k]).abs() > 1e-2), "{gradient:?}");
    }
}

#[test]
fn two_stages_are_the_local_model_and_then_the_rest() {
    two_stages(|minimisation| Box::new(Mle(minimisation)), true);
    two_stages(|minimisation| Box::new(PseudoLikelihood(minimisation)), false);
    two_stages(|minimisation| Box::new(MEstimator { minimisation, ..MEstimator::default() }), false);
}

#[test]
fn a_strong_l1_penalty_keeps_only_exempt_weights() {
    let encoded = encoded(9, 2);
    let (w, ..) =
        train(&Mle(Minimisation { l1: 1e4, exempt_intercepts: true, ..Minimisation::default() }), &encoded);
    assert!((0..w.len()).all(|k| (w[k] != 0.0) == encoded.map.is_intercept(k)), "{w:?}");
}

#[test]
fn separable_data_without_a_penalty_are_said_to_diverge() {
    let one = Encoded::new(
        r#"["intercept", {"state": "value"}]"#,
        data(&Draw { sequences: 1, length: 2, labels: 2, unlabelled: 0, seed: 1 }),
    );
    let fit = quiet(1, |run| Mle::default().fit(&one.problem(&INFERENCE), run)).unwrap();
    assert_eq!(fit.trace.stop, Stop::Diverging);
}

#[test]
fn the_trace_goes_down_and_the_observer_can_stop_it() {
    let encoded = encoded(2, 3);
    let mut seen: Vec<Iteration> = Vec::new();
    let mut observer = |iteration: &Iteration| {
        seen.push(iteration.clone());
        if iteration.iteration == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let learner = Mle(Minimisation { l2: 0.1, ..Minimisation::default() });
    let fit =
        learner.fit(&encoded.problem(&INFERENCE), &mut FitContext::new(Seed::new(1), &mut observer)).unwrap();
    assert_eq!((fit.trace.stop, seen.len()), (Stop::Observer, 4));
    assert!(seen.windows(2).all(|pair| pair[1].objective < pair[0].objective));
    assert!(seen.windows(2).all(|pair| pair[1].evaluations > pair[0].evaluations));
    assert_eq!(fit.trace.iterations, seen);
}

#[test]
fn a_warm_start_at_the_optimum_stays_there() {
    let encoded = encoded(4, 3);
    let learner = Mle(Minimisation {
        l2: 1.0,
        stop: StopRule { delta: 0.0, ..StopRule::default() },
        ..Minimisation::default()
    });
    let first = quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap();
    let problem = crf_core::Problem { start: Some(&*first.model), ..encoded.problem(&INFERENCE) };
    let second = quiet(1, |run| learner.fit(&problem, run)).unwrap();
    assert_eq!(second.trace.iterations.len(), 0);
    assert_eq!(second.trace.stop, Stop::Converged);
}

#[test]
fn impossible_settings_are_refused() {
    let message = |mle: &Mle| mle.check().unwrap_err().to_string();
    assert_eq!(
        message(&Mle(Minimisation { l2: -5.0, ..Minimisation::default() })),
        "`l2` must be a finite number of at least 0, got -5"
    );
    assert_eq!(
        message(&Mle(Minimisation { l1: f64::NAN, ..Minimisation::default() })),
        "`l1` must be a finite number of at least 0, got NaN"
    );
    let lbfgs =
        Mle(Minimisation { l1: 1.0, optimizer: Some(Box::new(Lbfgs::default())), ..Minimisation::default() });
    assert!(message(&lbfgs).starts_with("`optimizer` must be `owl-qn`"));
}

#[test]
fn data_without_positions_are_refused() {
    let empty =
        Encoded::new(FEATURES, data(&Draw { sequences: 2, length: 0, labels: 2, unlabelled: 0, seed: 1 }));
    let error = quiet(1, |run| Mle::default().fit(&empty.problem(&INFERENCE), run)).unwrap_err();
    assert_eq!(error.to_string(), "the training data have no position");
}
