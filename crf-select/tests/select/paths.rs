//! Paths of selectors that train, held to the optimality conditions.

use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, DatasetBuilder, Learner as _, Problem, Schema, Selector, Stop, Value,
};
use crf_learn::{LikelihoodObjective, Minimisation, Mle, Sharded, StopRule};
use crf_select::{ForwardSettings, ForwardWrapper, Grafting, L1Path, LambdaPath};
use crf_testing::cases;
use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::{INFERENCE, quiet};
use proptest::prelude::*;

const FEATURES: &str = r#"["intercept", "transition", {"state": "value"}, {"state": "equals"}]"#;
const TIGHT: StopRule = StopRule { iterations: 5000, tolerance: 1e-8, delta: 0.0, period: 10 };

fn encoded(seed: u64, labels: usize) -> Encoded {
    Encoded::new(FEATURES, data(&Draw { sequences: 6, length: 25, labels, unlabelled: 0, seed }))
}

/// One candidate of a path: weights of all features, and the objective.
struct Shown {
    w: Vec<f64>,
    features: Vec<usize>,
    objective: f64,
}

fn path(selector: &dyn Selector, problem: &Problem<'_>) -> (Vec<Shown>, Stop) {
    let mut shown = Vec::new();
    let stop = quiet(1, |run| {
        selector.path(problem, run, &mut |candidate| {
            let mut w = vec![0.0; problem.map.len()];
            let weights = candidate.weights.unwrap();
            candidate.features.iter().zip(weights).for_each(|(&k, &weight)| w[k] = weight);
            let (features, objective) = (candidate.features.to_vec(), candidate.objective.unwrap());
            shown.push(Shown { w, features, objective });
            Ok(ControlFlow::Continue(()))
        })
    });
    (shown, stop.unwrap())
}

/// Gradient of the negative log-likelihood.
fn gradient(problem: &Problem<'_>, w: &[f64]) -> Vec<f64> {
    let mut gradient = vec![0.0; w.len()];
    Sharded::new(LikelihoodObjective::new(problem).unwrap()).evaluate(w, &mut gradient).unwrap();
    gradient
}

fn penalties(screen: bool, exempt_intercepts: bool) -> LambdaPath {
    LambdaPath {
        decay: 0.75,
        floor: 0.02,
        screen,
        exempt_intercepts,
        tolerance: 1e-6,
        iterations: 5000,
        ..LambdaPath::default()
    }
}

/// Values of `dense`: all models by OWL-QN, those of more than six weights, or none.
fn dense() -> impl Strategy<Value = usize> {
    prop_oneof![Just(0), Just(6), Just(1000)]
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn every_point_of_the_l1_path_is_optimal_and_equals_a_cold_start(
        seed in any::<u64>(), labels in 2..4_usize, screen: bool, exempt: bool, dense in dense(),
    ) {
        let encoded = encoded(seed, labels);
        let problem = encoded.problem(&INFERENCE);
        let penalties = LambdaPath { dense, ..penalties(screen, exempt) };
        let decay = penalties.decay;
        let (shown, stop) = path(&L1Path(penalties), &problem);
        prop_assert_eq!(stop, Stop::Converged);
        let spared = |k: usize| exempt && encoded.map.is_intercept(k);
        // λ_0 is the largest derivative once the exempt features are trained.
        let minimisation = |l1| Minimisation { l1, exempt_intercepts: exempt, stop: TIGHT, ..Minimisation::default() };
        let fit = quiet(1, |run| Mle(minimisation(1e6)).fit(&problem, run)).unwrap();
        let none = gradient(&problem, fit.model.log_linear().unwrap().weights());
        let mut lambda = (0..none.len()).filter(|&k| !spared(k)).map(|k| none[k].abs()).fold(0.0, f64::max);
        prop_assert!(shown.len() >= 13, "{}", shown.len());
        for (i, point) in shown.iter().enumerate() {
            lambda *= decay;
            let slopes = gradient(&problem, &point.w);
            for (k, (&w, &slope)) in point.w.iter().zip(&slopes).enumerate() {
                let l1 = if spared(k) { 0.0 } else { lambda };
                let off = if w == 0.0 { (slope.abs() - l1).max(0.0) } else { (slope + l1 * w.signum()).abs() };
                prop_assert!(off < 1e-3 * lambda, "point {i}, {}: weight {w} slope {slope}", encoded.map.name(k));
            }
            if i % 4 == 0 {
                let cold = quiet(1, |run| Mle(minimisation(lambda)).fit(&problem, run)).unwrap();
                let cold = cold.trace.iterations.last().unwrap().objective;
                prop_assert!((point.objective - cold).abs() < 1e-6 * cold, "{} vs {cold}", point.objective);
            }
        }
    }

    #[test]
    fn screening_never_changes_the_path(seed in any::<u64>(), labels in 2..4_usize, exempt: bool) {
        let encoded = encoded(seed, labels);
        let problem = encoded.problem(&INFERENCE);
        let [with, without] = [true, false].map(|screen| path(&L1Path(penalties(screen, exempt)), &problem).0);
        prop_assert_eq!(with.len(), without.len());
        for (a, b) in with.iter().zip(&without) {
            prop_assert!((a.objective - b.objective).abs() < 1e-7 * b.objective, "{} vs {}", a.objective, b.objective);
        }
    }

    #[test]
    fn grafting_with_an_l1_penalty_ends_at_its_optimum(
        seed in any::<u64>(), labels in 2..4_usize, l1 in 0.5..8.0, l2 in prop_oneof![Just(0.0), 0.1..2.0], per_round in 1..4_usize,
    ) {
        let encoded = encoded(seed, labels);
        let problem = encoded.problem(&INFERENCE);
        let settings = ForwardSettings { per_round, l1, l2, stop: TIGHT, ..ForwardSettings::default() };
        let (shown, stop) = path(&Grafting { settings, ..Grafting::default() }, &problem);
        prop_assert!(matches!(stop, Stop::Converged | Stop::NoProgress), "{stop:?}");
        let cold = quiet(1, |run| Mle(Minimisation { l1, l2, stop: TIGHT, ..Minimisation::default() }).fit(&problem, run)).unwrap();
        let cold = cold.trace.iterations.last().unwrap().objective;
        let last = shown.last().unwrap().objective;
        prop_assert!((last - cold).abs() < 1e-6 * cold, "{last} vs {cold}");
        prop_assert!(shown.windows(2).all(|pair| pair[1].objective < pair[0].objective));
    }
}

#[test]
fn the_largest_slope_enters_first_and_weights_are_trained_on() {
    let encoded = encoded(3, 3);
    let problem = encoded.problem(&INFERENCE);
    let settings = ForwardSettings { l2: 0.1, most: 5, stop: TIGHT, ..ForwardSettings::default() };
    let (shown, stop) = path(&Grafting { settings, ..Grafting::default() }, &problem);
    assert_eq!((shown.len(), stop), (5, Stop::Budget));
    let mut w = vec![0.0; encoded.map.len()];
    for point in &shown {
        let slopes = gradient(&problem, &w);
        let new: Vec<usize> = point.features.iter().copied().filter(|&k| w[k] == 0.0).collect();
        let largest = slopes.iter().map(|slope| slope.abs()).fold(0.0, f64::max);
        assert_eq!((new.len(), slopes[new[0]].abs()), (1, largest));
        w.clone_from(&point.w);
        let after = gradient(&problem, &w);
        assert!(point.features.iter().all(|&k| (after[k] + 0.1 * w[k]).abs() < 1e-5), "{after:?}");
    }
}

#[test]
fn an_l0_penalty_ends_grafting_where_features_are_not_worth_it() {
    let encoded = encoded(4, 3);
    let problem = encoded.problem(&INFERENCE);
    let settings = ForwardSettings { l2: 0.1, ..ForwardSettings::default() };
    let (all, _) = path(&Grafting { l0: 0.0, settings: settings.clone() }, &problem);
    let l0 = 2.0;
    let (some, stop) = path(&Grafting { l0, settings }, &problem);
    assert_eq!(stop, Stop::Converged);
    let falls = |n: usize| all[n - 1].objective - all[n].objective;
    assert!(some.len() < all.len() && falls(some.len()) < l0);
    assert!((1..some.len()).all(|n| falls(n) >= l0));
}

#[test]
fn paths_end_where_they_are_told_to() {
    let encoded = encoded(5, 2);
    let problem = encoded.problem(&INFERENCE);
    let (shown, stop) = path(&L1Path(LambdaPath { most: Some(4), ..LambdaPath::default() }), &problem);
    assert!(stop == Stop::Budget && shown.iter().all(|point| point.features.len() <= 4) && !shown.is_empty());
    let (shown, stop) = path(&ForwardWrapper { budget: 5, tries: 2, ..ForwardWrapper::default() }, &problem);
    assert!(stop == Stop::Budget && shown.len() <= 3, "{stop} after {} rounds", shown.len());
    let mut n = 0;
    let stop = quiet(1, |run| {
        L1Path::default().path(&problem, run, &mut |_| {
            n += 1;
            Ok(if n == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })
    });
    assert_eq!((stop.unwrap(), n), (Stop::Observer, 3));
}

/// Points of a path on numbers times `factor`: weights times `factor`, and objectives.
fn scaled_path(selector: &dyn Selector, factor: f64) -> Vec<(Vec<f64>, f64)> {
    let channel = |name: &str| Channel { name: name.into(), kind: ChannelKind::Real };
    let schema = Schema::chain(["x", "y"].map(channel).to_vec(), Alphabet::new(["a", "b", "c"])).unwrap();
    let mut builder = DatasetBuilder::new(Arc::new(schema));
    for t in 0..150 {
        let [x, y] = [f64::from(t % 13) - 6.0, f64::from(t % 7) - 3.0];
        let label = u32::from(x + y + f64::from(t % 5) > 1.0) + u32::from(y - f64::from(t % 4) > 0.0);
        builder.push(&[x, y].map(|value| Value::Real(value * factor)), Some(label)).unwrap();
    }
    builder.end_chain().unwrap();
    let encoded = Encoded::new(r#"[{"state": "value"}]"#, builder.finish());
    let (shown, _) = path(selector, &encoded.problem(&INFERENCE));
    let scaled = |point: Shown| (point.w.iter().map(|w| w * factor).collect(), point.objective);
    shown.into_iter().map(scaled).collect()
}

// Numbers of size 1e6 were never trained, and for numbers of size 1e-6 the large weights made the
// tolerance of a minimum so wide that no point was one.
#[test]
fn a_path_is_the_same_whether_numbers_are_large_or_small() {
    let selectors: [&dyn Selector; 2] = [&L1Path::default(), &Grafting::default()];
    let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-8 * (1.0 + b.abs());
    for selector in selectors {
        let plain = scaled_path(selector, 1.0);
        assert!(plain.len() > 2, "{selector:?}");
        for digits in [20, 40, -20, -40] {
            let scaled = scaled_path(selector, 2.0_f64.powi(digits));
            assert_eq!(scaled.len(), plain.len(), "{selector:?} at 2^{digits}");
            for ((w, value), (other_w, other_value)) in scaled.iter().zip(&plain) {
                assert!(is_near(*value, *other_value), "{value} and {other_value} at 2^{digits}");
                let all_near = w.iter().zip(other_w).all(|(&a, &b)| is_near(a, b));
                assert!(all_near, "{w:?} and {other_w:?} at 2^{digits}");
            }
        }
    }
}

#[test]
fn batches_never_change_the_path() {
    let encoded = encoded(6, 3);
    let problem = encoded.problem(&INFERENCE);
    let [all, few] =
        [1000, 2].map(|batch| path(&L1Path(LambdaPath { batch, ..penalties(true, false) }), &problem).0);
    assert_eq!(all.len(), few.len());
    for (a, b) in all.iter().zip(&few) {
        assert!((a.objective - b.objective).abs() < 1e-7 * b.objective, "{} vs {}", a.objective, b.objective);
    }
}

#[test]
fn a_path_goes_on_where_many_copies_are_not_quite_solved() {
    // Twenty copies of a number with a large weight, and a loose tolerance that leaves large
    // slopes.
    let names: Vec<String> = (0..20).map(|k| format!("x{k}")).collect();
    let channel = |name: &String| Channel { name: name.clone(), kind: ChannelKind::Real };
    let channels = names.iter().map(channel).collect();
    let schema = Schema::chain(channels, Alphabet::new(["no", "yes"])).unwrap();
    let mut builder = DatasetBuilder::new(Arc::new(schema));
    for t in 0..200 {
        let x = 0.1 * (f64::from(t % 21) - 10.0);
        let label = u32::from(x + 0.04 * f64::from(t % 7 - 3) > 0.0);
        builder.push(&[Value::Real(x); 20], Some(label)).unwrap();
    }
    builder.end_chain().unwrap();
    let encoded = Encoded::new(r#"[{"state": "value"}]"#, builder.finish());
    for (tolerance, batch) in [(1e-3, 8), (0.05, 1), (0.3, 1), (1.0, 2)] {
        let penalties = LambdaPath { tolerance, batch, floor: 1e-3, ..LambdaPath::default() };
        let (shown, stop) = path(&L1Path(penalties), &encoded.problem(&INFERENCE));
        assert!(shown.len() == 65 && stop == Stop::Converged, "{tolerance}: {} {stop}", shown.len());
    }
    assert!(L1Path(LambdaPath { iterations: 0, ..LambdaPath::default() }).check().is_err());
    let endless = LambdaPath { decay: 1.0 - 1e-9, ..LambdaPath::default() };
    let message = L1Path(endless).check().unwrap_err().to_string();
    assert!(message.contains("`decay`") && message.contains("values of λ"), "{message}");
}
