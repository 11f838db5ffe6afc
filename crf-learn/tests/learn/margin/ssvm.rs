//! Solvers of the structured SVM against the whole quadratic program, and invariants of every
//! iteration.

use std::collections::BTreeMap;
use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Constraints, Dataset, DatasetBuilder, Decode, Inference, Label, Learner,
    Problem, Schema, Scratch, Stop, Trace, Value, evaluate, oracle,
};
use crf_inference::{BeliefPropagation, DualDecomposition, Enumeration, JunctionTree};
use crf_learn::{
    Loss, Margin, PassiveAggressive, Scorer, Slack, Ssvm, SsvmFrankWolfe, SsvmNSlack, SsvmOneSlack,
    SsvmSubgradient,
};
use crf_testing::cases;
use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::{INFERENCE, on_threads, quiet};
use proptest::prelude::*;

const FEATURES: [&str; 2] = [
    r#"["intercept", "transition", {"state": "value"}]"#,
    r#"["transition", {"state": "equals", "pairs": "observed"}, {"transition": "value"}]"#,
];

fn small(labels: usize, seed: u64) -> Draw {
    Draw { sequences: 4, length: 4, labels, unlabelled: 0, seed }
}

fn margins() -> [Margin; 3] {
    let costs = BTreeMap::from([("L0".to_owned(), 3.0), ("L1".to_owned(), 0.5)]);
    let zero_one = Margin { loss: Loss::ZeroOne, ..Margin::default() };
    [Margin::default(), zero_one, Margin { loss: Loss::Hamming, costs }]
}

/// The cutting-plane solvers and Frank-Wolfe, all of which raise the dual value.
fn exact(ssvm: &Ssvm) -> [Box<dyn Learner>; 3] {
    [
        Box::new(SsvmNSlack(ssvm.clone())),
        Box::new(SsvmOneSlack(ssvm.clone())),
        Box::new(SsvmFrankWolfe { ssvm: ssvm.clone(), ..Default::default() }),
    ]
}

fn fit(learner: &dyn Learner, problem: &Problem<'_>) -> (Vec<f64>, Trace) {
    let fit = quiet(3, |run| learner.fit(problem, run)).unwrap();
    (fit.model.log_linear().unwrap().weights().to_vec(), fit.trace)
}

fn truth(data: &Dataset, i: usize) -> Vec<Label> {
    data.labels()[data.range(i)].iter().map(|label| label.unwrap()).collect()
}

/// Δ(y, y_i) by its definition.
fn cost(margin: &Margin, truth: &[Label], labels: &[Label]) -> f64 {
    let wrong = truth.iter().zip(labels).filter(|(truth, label)| truth != label);
    match margin.loss {
        Loss::ZeroOne => f64::from(truth != labels),
        Loss::Hamming => {
            wrong.map(|(truth, _)| margin.costs.get(&format!("L{truth}")).copied().unwrap_or(1.0)).sum()
        }
    }
}

/// One labelling of a sequence: F(truth) − F(labelling), and its cost.
struct Plane {
    normal: Vec<f64>,
    cost: f64,
}

/// All planes of each sequence, with C · weight.
fn planes(problem: &Problem<'_>, margin: &Margin, c: f64) -> Vec<(f64, Vec<Plane>)> {
    let (data, dim) = (problem.train.data(), problem.map.len());
    let mut scorer = Scorer::new(problem.map, problem.train).unwrap();
    scorer.update(&vec![0.0; dim]);
    let sequence = |i: usize| {
        let (truth, mut memory, mut tables) = (truth(data, i), Scratch::new(), Default::default());
        let mut p = scorer.fill(i, &mut memory).unwrap();
        if let Some(forbidden) = problem.forbidden {
            p = forbidden.apply(p, &mut tables).unwrap();
        }
        let possible = oracle::all_labellings(&p).into_iter().filter(|found| found.score.is_finite());
        let plane = |labels: &[Label]| {
            let mut normal = vec![0.0; dim];
            scorer.add_features(i, &truth, 1.0, &mut normal);
            scorer.add_features(i, labels, -1.0, &mut normal);
            Plane { normal, cost: cost(margin, &truth, labels) }
        };
        (c * data.weight(i), possible.map(|found| plane(&found.labels)).collect())
    };
    (0..data.len()).map(sequence).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn primal(planes: &[(f64, Vec<Plane>)], w: &[f64]) -> f64 {
    let hinge = |planes: &[Plane]| planes.iter().map(|p| p.cost - dot(w, &p.normal)).fold(0.0, f64::max);
    0.5 * dot(w, w) + planes.iter().map(|(c, planes)| c * hinge(planes)).sum::<f64>()
}

/// Nearest point of the simplex {α ≥ 0, Σα = total} (Held, Wolfe & Crowder 1974).
fn project(alpha: &mut [f64], total: f64) {
    let mut sorted = alpha.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (k, value) in sorted.iter().enumerate() {
        sum += value;
        let candidate = (sum - total) / (k + 1) as f64;
        if *value > candidate {
            shift = candidate;
        }
    }
    alpha.iter_mut().for_each(|alpha| *alpha = (*alpha - shift).max(0.0));
}

/// Bounds of the minimum, less than 1e-7 of it apart, by accelerated projected gradients on the
/// whole dual problem.
fn minimum(planes: &[(f64, Vec<Plane>)], dim: usize) -> (f64, f64) {
    let w_of = |alpha: &[Vec<f64>]| {
        let mut w = vec![0.0; dim];
        for (alpha, (_, planes)) in alpha.iter().zip(planes) {
            for (alpha, plane) in alpha.iter().zip(planes) {
                w.iter_mut().zip(&plane.normal).for_each(|(w, normal)| *w += alpha * normal);
            }
        }
        w
    };
    let loss = |alpha: &[Vec<f64>]| -> f64 {
        let of = |(alpha, (_, planes)): (&Vec<f64>, &(f64, Vec<Plane>))| {
            alpha.iter().zip(planes).map(|(alpha, plane)| alpha * plane.cost).sum::<f64>()
        };
        alpha.iter().zip(planes).map(of).sum()
    };
    // Largest eigenvalue of the Gram matrix by power iteration, times 1.5.
    let mut v: Vec<f64> = (0..dim).map(|k| 1.0 + 0.1 * (k as f64).sin()).collect();
    let mut lipschitz = 0.0;
    for _ in 0..100 {
        let mut next = vec![0.0; dim];
        for plane in planes.iter().flat_map(|(_, planes)| planes) {
            let product = dot(&plane.normal, &v);
            next.iter_mut().zip(&plane.normal).for_each(|(next, normal)| *next += product * normal);
        }
        let length = dot(&next, &next).sqrt();
        lipschitz = 1.5 * length;
        v = next.iter().map(|next| next / length).collect();
    }
    let mut alpha: Vec<Vec<f64>> =
        planes.iter().map(|(c, planes)| vec![c / planes.len() as f64; planes.len()]).collect();
    let (mut ahead, mut momentum, mut value) = (alpha.clone(), 1.0_f64, f64::NEG_INFINITY);
    for _ in 0..500_000 {
        let w = w_of(&ahead);
        let mut next = ahead.clone();
        for (next, (c, planes)) in next.iter_mut().zip(planes) {
            for (next, plane) in next.iter_mut().zip(planes) {
                *next += (plane.cost - dot(&w, &plane.normal)) / lipschitz;
            }
            project(next, *c);
        }
        let w = w_of(&next);
        let reached = loss(&next) - 0.5 * dot(&w, &w);
        let above = primal(planes, &w);
        if above - reached <= 1e-7 * (1.0 + reached) {
            return (reached, above);
        }
        // Restart where momentum leads downhill.
        let grown = if reached < value { 1.0 } else { 0.5 + (0.25 + momentum * momentum).sqrt() };
        let factor = if reached < value { 0.0 } else { (momentum - 1.0) / grown };
        for ((ahead, next), now) in ahead.iter_mut().zip(&next).zip(&alpha) {
            for ((ahead, next), now) in ahead.iter_mut().zip(next).zip(now) {
                *ahead = next + factor * (next - now);
            }
        }
        (alpha, momentum, value) = (next, grown, reached);
    }
    panic!("the reference did not converge");
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn all_solvers_find_the_minimum_of_the_whole_program(
        seed in any::<u64>(), labels in 2..4_usize, features in 0..FEATURES.len(), margin in 0..3_usize, c in 0.02..2.0_f64,
    ) {
        let encoded = Encoded::new(FEATURES[features], data(&small(labels, seed)));
        let problem = encoded.problem(&INFERENCE);
        let margin = margins()[margin].clone();
        let planes = planes(&problem, &margin, c);
        let (below, want) = minimum(&planes, problem.map.len());
        let ssvm = Ssvm { c, margin, iterations: 20_000, tolerance: 1e-6, patience: 0 };
        for learner in exact(&ssvm) {
            let (w, trace) = fit(&*learner, &problem);
            let last = trace.iterations.last().unwrap();
            prop_assert!(trace.stop == Stop::Converged, "{learner:?}: {last:?} vs {want}");
            prop_assert!(last.dual.unwrap() <= want + 1e-8 * (1.0 + want), "{learner:?}: {last:?} vs {want}");
            prop_assert!(last.objective >= below - 1e-8 * (1.0 + want), "{learner:?}: {last:?} vs {below}");
            prop_assert!(last.objective - want <= 2e-6 * last.objective + 1e-8, "{learner:?}: {last:?} vs {want}");
            prop_assert!((primal(&planes, &w) - last.objective).abs() <= 1e-8 * (1.0 + want), "{learner:?}: {last:?}");
        }
        let roughly = Ssvm { iterations: 100_000, tolerance: 0.01, ..ssvm };
        let rough: [Box<dyn Learner>; 2] = [
            Box::new(SsvmSubgradient(roughly.clone())),
            Box::new(SsvmFrankWolfe { average: true, ssvm: roughly, ..Default::default() }),
        ];
        for learner in rough {
            let (w, trace) = fit(&*learner, &problem);
            let last = trace.iterations.last().unwrap();
            prop_assert!(trace.stop == Stop::Converged, "{learner:?}: {last:?} vs {want}");
            prop_assert!(last.dual.unwrap() <= want + 1e-8 * (1.0 + want), "{learner:?}: {last:?} vs {want}");
            prop_assert!(last.objective - want <= 0.01 * last.objective + 1e-8, "{learner:?}: {last:?} vs {want}");
            prop_assert!((primal(&planes, &w) - last.objective).abs() <= 1e-8 * (1.0 + want), "{learner:?}: {last:?}");
        }
    }

    #[test]
    fn gaps_are_never_negative_and_dual_values_never_fall(seed in any::<u64>(), margin in 0..3_usize, c in 0.02..2.0_f64) {
        let draw = Draw { sequences: 12, length: 9, labels: 3, unlabelled: 0, seed };
        let encoded = Encoded::new(FEATURES[0], data(&draw));
        let problem = encoded.problem(&INFERENCE);
        let ssvm = Ssvm { c, margin: margins()[margin].clone(), iterations: 15, tolerance: 0.0, patience: 0 };
        let subgradient: Box<dyn Learner> = Box::new(SsvmSubgradient(ssvm.clone()));
        let average: Box<dyn Learner> = Box::new(SsvmFrankWolfe { average: true, ssvm: ssvm.clone(), ..Default::default() });
        for (n, learner) in exact(&ssvm).into_iter().chain([subgradient, average]).enumerate() {
            let (_, trace) = fit(&*learner, &problem);
            let mut before = 0.0;
            for iteration in &trace.iterations {
                let (gap, dual, rounding) = (iteration.gap().unwrap(), iteration.dual.unwrap(), 1e-9 * iteration.objective);
                prop_assert!(gap >= -rounding, "{learner:?}: {iteration:?}");
                prop_assert!(n == 3 || dual >= before - rounding, "{learner:?}: {before} before {iteration:?}");
                before = dual;
            }
        }
    }

    #[test]
    fn the_hinge_loss_bounds_what_predictions_lose(seed in any::<u64>(), margin in 0..3_usize, iterations in 1..6_u32) {
        let draw = Draw { sequences: 12, length: 9, labels: 3, unlabelled: 0, seed };
        let encoded = Encoded::new(FEATURES[0], data(&draw));
        let problem = encoded.problem(&INFERENCE);
        let ssvm = Ssvm { c: 0.5, margin: margins()[margin].clone(), iterations, tolerance: 0.0, patience: 0 };
        let subgradient: Box<dyn Learner> = Box::new(SsvmSubgradient(ssvm.clone()));
        for learner in exact(&ssvm).into_iter().chain([subgradient]) {
            let fit = quiet(3, |run| learner.fit(&problem, run)).unwrap();
            let w = fit.model.log_linear().unwrap().weights();
            let hinge = (fit.trace.iterations.last().unwrap().objective - 0.5 * dot(w, w)) / ssvm.c;
            let answers = evaluate(&*fit.model, &encoded.corpus, &INFERENCE, Decode::Viterbi).unwrap();
            let data = encoded.corpus.data();
            let lost = |i: usize| data.weight(i) * cost(&ssvm.margin, &truth(data, i), &answers.predicted[data.range(i)]);
            let lost: f64 = (0..data.len()).map(lost).sum();
            prop_assert!(lost <= hinge + 1e-9 * (1.0 + hinge), "{learner:?}: {lost} vs {hinge}");
        }
    }

    #[test]
    fn the_order_of_labels_does_not_matter(seed in any::<u64>(), margin in 0..3_usize) {
        let data = data(&small(3, seed));
        let turned = relabelled(&data);
        let [one, other] = [data, turned].map(|data| Encoded::new(FEATURES[0], data));
        let ssvm = Ssvm { c: 0.3, margin: margins()[margin].clone(), iterations: 20_000, tolerance: 1e-8, patience: 0 };
        for learner in exact(&ssvm) {
            let [a, b] = [&one, &other].map(|encoded| {
                let (w, _) = fit(&*learner, &encoded.problem(&INFERENCE));
                w.into_iter().enumerate().map(|(k, w)| (encoded.map.name(k), w)).collect::<BTreeMap<_, _>>()
            });
            for (name, w) in &a {
                prop_assert!((w - b[name]).abs() < 1e-3, "{learner:?}: {name} is {w} and {}", b[name]);
            }
        }
    }

    #[test]
    fn the_first_step_of_passive_aggressive_learning_has_a_closed_form(
        seed in any::<u64>(), labels in 2..4_usize, c in 0.001..1.0_f64, squared: bool,
    ) {
        let encoded = Encoded::new(FEATURES[0], data(&Draw { sequences: 1, length: 5, labels, unlabelled: 0, seed }));
        let problem = encoded.problem(&INFERENCE);
        let slack = if squared { Slack::Squared } else { Slack::Linear };
        let learner = PassiveAggressive { c, slack, epochs: 1, average: false, ..PassiveAggressive::default() };
        let (w, _) = fit(&learner, &problem);
        // With zero weights every labelling that is wrong everywhere violates the margin most.
        let all = planes(&problem, &Margin::default(), 1.0).swap_remove(0).1;
        let misses = |plane: &Plane| {
            let square = dot(&plane.normal, &plane.normal);
            let step = if squared { plane.cost / (square + 0.5 / c) } else { (plane.cost / square).min(c) };
            w.iter().zip(&plane.normal).map(|(w, normal)| (w - step * normal).abs()).fold(0.0, f64::max)
        };
        let wrong = all.iter().filter(|plane| plane.cost == 5.0);
        let nearest = wrong.map(misses).fold(f64::INFINITY, f64::min);
        prop_assert!(nearest < 1e-9, "{nearest}");
    }
}

/// The same data with the alphabet of labels reversed.
fn relabelled(data: &Dataset) -> Dataset {
    let schema = data.schema();
    let names: Vec<&str> = schema.labels().names().iter().collect();
    let last = names.len() as Label - 1;
    let labels = Alphabet::new(names.into_iter().rev());
    let mut builder =
        DatasetBuilder::new(Arc::new(Schema::chain(schema.channels().to_vec(), labels).unwrap()));
    for i in 0..data.len() {
        let x = data.sequence(i);
        for (t, label) in x.labels().iter().enumerate() {
            let values =
                [Value::Real(x.real(0)[t]), Value::Real(x.real(1)[t]), Value::Symbol(x.symbol(2)[t])];
            builder.push(&values, label.map(|label| last - label)).unwrap();
        }
        builder.end_chain().unwrap();
        builder.weigh_last(data.weight(i)).unwrap();
    }
    builder.finish()
}

#[test]
fn results_are_the_same_at_any_number_of_threads() {
    let draw = Draw { sequences: 60, length: 20, labels: 4, unlabelled: 0, seed: 8 };
    let encoded = Encoded::new(FEATURES[0], data(&draw));
    let ssvm = Ssvm { c: 0.1, iterations: 20, ..Ssvm::default() };
    for learner in exact(&ssvm) {
        let weights =
            [1, 2, 3].map(|threads| on_threads(threads, || fit(&*learner, &encoded.problem(&INFERENCE)).0));
        assert!(weights[0] == weights[1] && weights[1] == weights[2], "{learner:?}");
    }
}

#[test]
fn forbidden_labellings_violate_no_margin() {
    let draw = Draw { sequences: 8, length: 4, labels: 3, unlabelled: 0, seed: 6 };
    let encoded = Encoded::new(r#"["intercept", "transition", {"state": "value"}]"#, data(&draw));
    let seen: Vec<Vec<Label>> = (0..8).map(|i| truth(encoded.corpus.data(), i)).collect();
    let pairs = (0..3).flat_map(|a| (0..3).map(move |b| [a, b]));
    let unseen = pairs.filter(|pair| !seen.iter().any(|labels| labels.windows(2).any(|two| two == pair)));
    let forbid: Vec<_> = unseen.map(|[a, b]| (format!("L{a}"), format!("L{b}"))).collect();
    assert!(!forbid.is_empty());
    let constraints = Constraints { forbid, ..Constraints::default() };
    let forbidden = constraints.resolve(encoded.corpus.data().schema()).unwrap();
    let problem = Problem { forbidden: Some(&forbidden), ..encoded.problem(&INFERENCE) };
    let (_, want) = minimum(&planes(&problem, &Margin::default(), 0.5), problem.map.len());
    let (free, _) =
        minimum(&planes(&encoded.problem(&INFERENCE), &Margin::default(), 0.5), problem.map.len());
    assert!(want < free, "{want} vs {free}");
    for learner in exact(&Ssvm { c: 0.5, tolerance: 1e-6, ..Ssvm::default() }) {
        let (_, trace) = fit(&*learner, &problem);
        let last = trace.iterations.last().unwrap();
        assert!((last.objective - want).abs() <= 2e-6 * want, "{learner:?}: {last:?} vs {want}");
    }
}

#[test]
fn inferences_on_graphs_serve_as_well() {
    let encoded = Encoded::new(FEATURES[0], data(&small(3, 11)));
    let (_, want) =
        minimum(&planes(&encoded.problem(&INFERENCE), &Margin::default(), 0.5), encoded.map.len());
    let inferences: [&dyn Inference; 4] = [
        &JunctionTree::default(),
        &Enumeration::default(),
        &BeliefPropagation::default(),
        &DualDecomposition::default(),
    ];
    for inference in inferences {
        let ssvm = Ssvm { c: 0.5, tolerance: 1e-4, iterations: 2000, ..Ssvm::default() };
        for learner in exact(&ssvm) {
            let (_, trace) = fit(&*learner, &encoded.problem(inference));
            let last = trace.iterations.last().unwrap();
            assert!(
                (last.objective - want).abs() <= 2e-4 * want,
                "{inference:?}, {learner:?}: {last:?} vs {want}"
            );
        }
    }
}

#[test]
fn refusals_say_what_would_do() {
    let encoded = Encoded::new(FEATURES[0], data(&small(2, 1)));
    let problem = encoded.problem(&INFERENCE);
    let refused = |learner: &dyn Learner, problem: &Problem<'_>| {
        quiet(1, |run| learner.fit(problem, run)).unwrap_err().to_string()
    };
    let zero_one = Ssvm { margin: margins()[1].clone(), ..Ssvm::default() };
    let tree = JunctionTree::default();
    let message = refused(&SsvmNSlack(zero_one.clone()), &encoded.problem(&tree));
    assert!(message.contains("`junction-tree` lists no second best labelling"), "{message}");
    let costs = BTreeMap::from([("L7".to_owned(), 1.0)]);
    let margin = Margin { loss: Loss::Hamming, costs: costs.clone() };
    let message = refused(&SsvmOneSlack(Ssvm { margin, ..Ssvm::default() }), &problem);
    assert!(message.contains("unknown label `L7`, did you mean `L0`?"), "{message}");
    let both = Margin { loss: Loss::ZeroOne, costs };
    let message = SsvmNSlack(Ssvm { margin: both, ..Ssvm::default() }).check().unwrap_err().to_string();
    assert!(message.contains("`margin.costs` must be empty for `zero-one`"), "{message}");
    let unlabelled = Encoded::new(FEATURES[0], data(&Draw { unlabelled: 5, ..small(2, 1) }));
    let message = refused(&PassiveAggressive::default(), &unlabelled.problem(&INFERENCE));
    assert!(message.contains("and `passive-aggressive` needs all of them"), "{message}");
}

#[test]
fn a_start_shortens_the_way() {
    let draw = Draw { sequences: 60, length: 20, labels: 4, unlabelled: 0, seed: 8 };
    let encoded = Encoded::new(FEATURES[0], data(&draw));
    let problem = encoded.problem(&INFERENCE);
    let ssvm = Ssvm { c: 0.1, tolerance: 1e-3, ..Ssvm::default() };
    let start =
        quiet(1, |run| SsvmFrankWolfe { ssvm: ssvm.clone(), ..Default::default() }.fit(&problem, run))
            .unwrap()
            .model;
    let warm = Problem { start: Some(&*start), ..problem };
    let few = Ssvm { iterations: 3, ..ssvm };
    let learners: [Box<dyn Learner>; 4] = [
        Box::new(SsvmNSlack(few.clone())),
        Box::new(SsvmOneSlack(few.clone())),
        Box::new(SsvmFrankWolfe { ssvm: few.clone(), ..Default::default() }),
        Box::new(SsvmSubgradient(few)),
    ];
    for learner in learners {
        let [cold, warm] = [&problem, &warm].map(|problem| fit(&*learner, problem).1.iterations[0].objective);
        assert!(warm < cold, "{learner:?}: {warm} vs {cold}");
    }
}

/// A wrong label that changes no feature has the curvature 0: its share is moved as a whole, not by
/// −∞.
#[test]
fn positions_without_features_leave_the_dual_value_finite() {
    let channel = Channel { name: "x".into(), kind: ChannelKind::Real };
    let schema = Schema::chain(vec![channel], Alphabet::new(["a", "b"])).unwrap();
    let mut builder = DatasetBuilder::new(schema.into());
    for (x, label) in [(0.0, 0), (1.0, 1), (-1.0, 0)] {
        builder.push(&[Value::Real(x)], Some(label)).unwrap();
        builder.end_chain().unwrap();
    }
    let encoded = Encoded::new(r#"[{"state": "value"}]"#, builder.finish());
    for learner in exact(&Ssvm::default()) {
        let (_, trace) = fit(&*learner, &encoded.problem(&INFERENCE));
        let last = trace.iterations.last().unwrap();
        assert_eq!(trace.stop, Stop::Converged, "{learner:?}");
        assert!(
            last.dual.is_some_and(|dual| dual <= last.objective && dual > 0.98 * last.objective),
            "{last:?}"
        );
    }
}
