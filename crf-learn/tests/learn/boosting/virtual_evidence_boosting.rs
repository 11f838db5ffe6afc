//! Virtual evidence boosting: equal to LogitBoost without neighbours, and finds the right relations
//! otherwise.

use std::sync::Arc;

use crf_core::{Decode, Error, Features, Inference, Learner, Model, Problem, Seed, Source, Stop, evaluate};
use crf_datasets::{CoupledChains, ExtraEdges, Linked, Size, WeakObservations};
use crf_inference::{BeliefPropagation, JunctionTree};
use crf_learn::{BoostedHmm, BoostedRandomField, LogitBoost, VirtualEvidenceBoosting};
use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::{INFERENCE, log_loss, on_threads, quiet, text};

const FEATURES: &str = r#"["transition", {"state": "value"}, {"state": "equals"}]"#;
const LOCAL: &str = r#"[{"state": "value"}, {"state": "equals"}]"#;

/// Description of a model.
fn describe(model: &dyn Model) -> Vec<(String, f64)> {
    let mut described = Vec::new();
    model.describe(usize::MAX, &mut |name, value| described.push((name.to_owned(), value)));
    described
}

fn accuracy(model: &dyn Model, on: &Encoded, inference: &dyn Inference) -> f64 {
    let answers = evaluate(model, &on.corpus, inference, Decode::Viterbi).unwrap();
    let (mut right, mut all) = (0, 0);
    answers
        .pairs()
        .for_each(|(truth, predicted)| (right, all) = (right + i32::from(truth == predicted), all + 1));
    f64::from(right) / f64::from(all)
}

/// Algorithm 6 of Friedman, Hastie and Tibshirani (2000) as printed, on attributes with given
/// outcomes; returns the loss of each round and the index of the attribute chosen.
fn logit_boost(
    x: &[Vec<usize>],
    y: &[usize],
    weights: &[f64],
    n_labels: usize,
    rounds: usize,
) -> Vec<(f64, usize)> {
    let mut scores = vec![vec![0.0_f64; n_labels]; y.len()];
    let mut steps = Vec::new();
    let p = |scores: &[f64]| {
        let sum: f64 = scores.iter().map(|score| score.exp()).sum();
        scores.iter().map(|score| score.exp() / sum).collect::<Vec<_>>()
    };
    for _ in 0..rounds {
        let mut best = (f64::INFINITY, 0, Vec::new());
        for (a, column) in x.iter().enumerate() {
            let n_outcomes = column.iter().max().unwrap() + 1;
            let (mut values, mut error) = (vec![vec![0.0; n_labels]; n_outcomes], 0.0);
            for k in 0..n_labels {
                let response = |i: usize| {
                    let p = p(&scores[i])[k];
                    let w = p * (1.0 - p);
                    let z = (f64::from(u8::from(y[i] == k)) - p) / w;
                    (weights[i] * w, z.clamp(-4.0, 4.0))
                };
                for d in 0..n_outcomes {
                    let of = (0..y.len()).filter(|&i| column[i] == d);
                    let (wz, w) = of.clone().fold((0.0, 0.0), |(wz, sum), i| {
                        let (w, z) = response(i);
                        (wz + w * z, sum + w)
                    });
                    values[d][k] = if w > 0.0 { wz / w } else { 0.0 };
                    error += of.map(&response).map(|(w, z)| w * (z - values[d][k]).powi(2)).sum::<f64>();
                }
            }
            if error < best.0 - 1e-9 {
                best = (error, a, values);
            }
        }
        for (i, scores) in scores.iter_mut().enumerate() {
            let values = &best.2[x[best.1][i]];
            let mean = values.iter().sum::<f64>() / n_labels as f64;
            let factor = (n_labels as f64 - 1.0) / n_labels as f64;
            scores.iter_mut().zip(values).for_each(|(score, value)| *score += factor * (value - mean));
        }
        let loss: f64 = (0..y.len()).map(|i| -weights[i] * p(&scores[i])[y[i]].ln()).sum();
        steps.push((loss, best.1));
    }
    steps
}

#[test]
fn without_neighbours_it_is_logit_boost_step_by_step() {
    for labels in [2, 4] {
        let draw = Draw { sequences: 8, length: 25, labels, unlabelled: 0, seed: 1 };
        let data = data(&draw);
        let truth: Vec<usize> = data.labels().iter().map(|label| label.unwrap() as usize).collect();
        // Two stumps at fixed thresholds and a symbol, as separate tests or as attributes.
        let features = r#"[{"state": {"type": "threshold", "at": [0.5], "of": {"type": "value", "channels": ["x"]}}},
                           {"state": {"type": "threshold", "at": [0.0], "of": {"type": "value", "channels": ["z"]}}}, {"state": "equals"}]"#;
        let weights: Vec<f64> =
            (0..data.len()).flat_map(|i| std::iter::repeat_n(data.weight(i), data.range(i).len())).collect();
        let sequences = (0..data.len()).map(|i| data.sequence(i));
        let mut x = vec![Vec::new(); 3];
        for sequence in sequences {
            x[0].extend(sequence.real(0).iter().map(|&x| usize::from(x > 0.5)));
            x[1].extend(sequence.real(1).iter().map(|&z| usize::from(z > 0.0)));
            x[2].extend(sequence.symbol(2).iter().map(|&word| word as usize));
        }
        let want = logit_boost(&x, &truth, &weights, labels, 12);
        let encoded = Encoded::new(features, data);
        let rounds = 12;
        let local = LogitBoost { rounds, ..LogitBoost::default() };
        let veb = VirtualEvidenceBoosting { rounds, ..VirtualEvidenceBoosting::default() };
        let learners: [&dyn Learner; 2] = [&local, &veb];
        for learner in learners {
            let fit = quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap();
            for (round, (iteration, (loss, chosen))) in fit.trace.iterations.iter().zip(&want).enumerate() {
                let got = iteration.objective;
                assert!((got - loss).abs() < 1e-9 * loss, "round {round}: {got} vs {loss}");
                let name = &describe(&*fit.model)[round].0;
                let starts = ["x>0.5", "z>0", "word"][*chosen];
                assert!(name.contains(starts), "round {round}: {name} vs {starts}");
            }
        }
    }
}

fn chains(stay: f64, distance: usize, length: usize) -> WeakObservations {
    let size = |sequences| Size { sequences, length };
    WeakObservations {
        stay,
        distance,
        observations: 50,
        train: size(4),
        test: size(1),
        lowest: 0.42,
        highest: 0.58,
        ..WeakObservations::default()
    }
}

#[test]
fn neighbours_enter_after_attributes_and_help() {
    let splits = chains(0.95, 1, 1000).load(&Seed::new(3)).unwrap();
    let features = r#"["transition", {"state": "value"}]"#;
    let [train, test] = [splits.train, splits.test].map(|data| Encoded::new(features, data));
    let bp = BeliefPropagation::default();
    let fit = quiet(1, |run| VirtualEvidenceBoosting::default().fit(&train.problem(&bp), run)).unwrap();
    let local = quiet(1, |run| LogitBoost::default().fit(&train.problem(&bp), run)).unwrap();
    let names: Vec<String> = describe(&*fit.model).into_iter().map(|(name, _)| name).collect();
    let first = names.iter().position(|name| name.contains("next,")).unwrap();
    assert!((1..30).contains(&first), "{names:?}");
    let [with, without] = [&fit, &local].map(|fit| accuracy(&*fit.model, &test, &bp));
    assert!(with > without + 0.05, "{with} vs {without}");
    // The same potentials by another inference: a chain is a tree.
    assert_eq!(with, accuracy(&*fit.model, &test, &INFERENCE));
}

/// While there is something to gain, only relations that the labels depend on enter; after that any
/// may enter by chance.
#[test]
fn the_right_distance_is_found() {
    let bp = BeliefPropagation::default();
    let veb = VirtualEvidenceBoosting { min_gain: 5.0, ..VirtualEvidenceBoosting::default() };
    for seed in 0..6 {
        let distance = 2 + seed as usize % 3;
        let edges = ExtraEdges { distances: vec![2, 3, 4], ..ExtraEdges::default() };
        let source = Linked { source: Box::new(chains(0.9, distance, 1500)), edges };
        let features = r#"["intercept", "transition", {"state": "value"}]"#;
        let train = Encoded::new(features, source.load(&Seed::new(seed)).unwrap().train);
        let fit = quiet(1, |run| veb.fit(&train.problem(&bp), run)).unwrap();
        assert_eq!(fit.trace.stop, Stop::Converged);
        let rounds: Vec<String> = describe(&*fit.model)
            .into_iter()
            .map(|(name, _)| name)
            .filter(|name| name.starts_with("round"))
            .collect();
        let is_tie = |name: &&String| name.ends_with("heads") || name.ends_with("tails");
        let ties: Vec<&String> = rounds.iter().filter(is_tie).collect();
        let of = |k: usize| if k == 1 { " next,".to_owned() } else { format!("distance-{k},") };
        let right = |name: &String| (1..5).any(|k| k % distance == 0 && name.contains(&of(k)));
        assert!(!ties.is_empty() && ties.iter().all(|name| right(name)), "distance {distance}: {ties:?}");
        assert!(!is_tie(&&rounds[0]), "{rounds:?}");
    }
}

/// p(y | x) of a classifier and counted transitions: tables by hand, and better than the
/// classifier.
#[test]
fn a_boosted_hmm_counts_its_transitions() {
    let splits = chains(0.95, 1, 1000).load(&Seed::new(3)).unwrap();
    let features = r#"["intercept", "transition", {"state": "value"}]"#;
    let [train, test] = [splits.train, splits.test].map(|data| Encoded::new(features, data));
    let hmm = quiet(1, |run| BoostedHmm::default().fit(&train.problem(&INFERENCE), run)).unwrap();
    let local = quiet(1, |run| LogitBoost::default().fit(&train.problem(&INFERENCE), run)).unwrap();
    let [with, without] = [&hmm, &local].map(|fit| accuracy(&*fit.model, &test, &INFERENCE));
    assert!(with > without + 0.05, "{with} vs {without}");
    let data = train.corpus.data();
    let mut counts = [[1.0_f64; 2]; 2];
    for i in 0..data.len() {
        for pair in data.labels()[data.range(i)].windows(2) {
            counts[pair[0].unwrap() as usize][pair[1].unwrap() as usize] += 1.0;
        }
    }
    let all: f64 = counts.iter().flatten().sum();
    let names = data.schema().labels();
    let described = describe(&*hmm.model);
    for before in 0..2 {
        for now in 0..2 {
            let of_head: f64 = (0..2).map(|d| counts[d][now]).sum();
            let of_tail: f64 = counts[before].iter().sum();
            let want = (counts[before][now] * all / (of_tail * of_head)).ln();
            let name = format!("next: y'={} ∧ y={}", names.name(before as u32), names.name(now as u32));
            let (_, got) = described.iter().find(|(described, _)| *described == name).unwrap();
            assert!((got - want).abs() < 1e-12, "{name}: {got} vs {want}");
        }
    }
}

#[test]
fn validation_data_end_boosted_random_fields() {
    let draw = |sequences, seed| data(&Draw { sequences, length: 15, labels: 3, unlabelled: 0, seed });
    let (train, valid) = Encoded::with_valid(FEATURES, draw(4, 1), draw(30, 2));
    let problem = Problem { valid: Some(&valid), ..train.problem(&INFERENCE) };
    let learner = BoostedRandomField { rounds: 200, patience: 5, ..BoostedRandomField::default() };
    let fit = quiet(1, |run| learner.fit(&problem, run)).unwrap();
    assert_eq!(fit.trace.stop, Stop::Holdout);
    let best = fit.trace.iterations.iter().map(|round| round.holdout.unwrap()).fold(f64::INFINITY, f64::min);
    let loss = log_loss(&*fit.model, &valid);
    assert!((loss - best).abs() < 1e-9 * best, "{loss} vs {best}");
}

#[test]
fn several_kinds_of_node_are_boosted_together() {
    let source = CoupledChains { train: Size { sequences: 4, length: 200 }, ..CoupledChains::default() };
    let splits = source.load(&Seed::new(1)).unwrap();
    let features = r#"["intercept", "transition", {"state": "value"}]"#;
    let [train, test] = [splits.train, splits.test].map(|data| Encoded::new(features, data));
    let bp = BeliefPropagation { max_sweeps: 100, tolerance: 1e-4, ..BeliefPropagation::default() };
    let veb = VirtualEvidenceBoosting { rounds: 80, ..VirtualEvidenceBoosting::default() };
    let fit = quiet(1, |run| veb.fit(&train.problem(&bp), run)).unwrap();
    // Also with full steps: neighbours on both sides share a table, and steps that do not count
    // them do not converge.
    let losses: Vec<f64> = fit.trace.iterations.iter().map(|round| round.objective).collect();
    let (lowest, last) = (losses.iter().copied().fold(f64::INFINITY, f64::min), losses[losses.len() - 1]);
    assert!(last < 1.2 * lowest, "{last} after {lowest}");
    let names: Vec<String> = describe(&*fit.model).into_iter().map(|(name, _)| name).collect();
    for relation in ["next-state,", "next-context,"] {
        assert!(names.iter().any(|name| name.contains(relation)), "{relation} in {names:?}");
    }
    let local =
        quiet(1, |run| LogitBoost { rounds: 80, ..LogitBoost::default() }.fit(&train.problem(&bp), run))
            .unwrap();
    let brf = quiet(1, |run| {
        BoostedRandomField { rounds: 40, ..BoostedRandomField::default() }.fit(&train.problem(&bp), run)
    })
    .unwrap();
    let [with, without, beliefs] = [&fit, &local, &brf].map(|fit| accuracy(&*fit.model, &test, &bp));
    assert!(with > without + 0.05, "{with} vs {without}");
    assert!(beliefs > without, "{beliefs} vs {without}");
}

#[test]
fn threads_change_nothing() {
    let draw = Draw { sequences: 40, length: 60, labels: 4, unlabelled: 0, seed: 1 };
    let encoded = Encoded::new(FEATURES, data(&draw));
    let bp = BeliefPropagation::default();
    let learners: [&dyn Learner; 2] = [&VirtualEvidenceBoosting::default(), &BoostedRandomField::default()];
    for learner in learners {
        let train = |threads| {
            text(&on_threads(threads, || quiet(1, |run| learner.fit(&encoded.problem(&bp), run))).unwrap())
        };
        assert_eq!(train(1), train(3));
    }
}

#[test]
fn saved_models_say_the_same_and_the_rounds_that_training_saw() {
    let features: Features = serde_json::from_str(FEATURES).unwrap();
    let data = data(&Draw { sequences: 10, length: 20, labels: 3, unlabelled: 0, seed: 3 });
    let fitted = features.fit(&data).unwrap();
    let corpus = fitted.encode(Arc::new(data)).unwrap();
    let map = Arc::new(fitted.map(&corpus).unwrap());
    let bp = BeliefPropagation::default();
    let problem = Problem::new(&corpus, &map, &bp);
    let local: &dyn Learner = &LogitBoost::default();
    for learner in [local, &VirtualEvidenceBoosting::default(), &BoostedRandomField::default()] {
        let fit = quiet(1, |run| learner.fit(&problem, run)).unwrap();
        let mut read: Box<dyn Model> = serde_json::from_str(&text(&fit)).unwrap();
        read.restore(&fitted).unwrap();
        let [before, after] = [&fit.model, &read].map(|model| {
            let answers = evaluate(&**model, &corpus, &JunctionTree::default(), Decode::Posterior).unwrap();
            (answers.predicted, answers.probabilities.unwrap())
        });
        assert_eq!(before, after);
        assert_eq!(describe(&*fit.model), describe(&*read));
        // Without pairs of labels beliefs are those of training, so the last loss is that of the
        // model.
        if !matches!(learner.typetag_name(), "virtual-evidence-boosting") {
            let loss: f64 =
                (0..corpus.len()).map(|i| -corpus.data().weight(i) * before.1.log_likelihood[i]).sum();
            let want = fit.trace.iterations.last().unwrap().objective;
            assert!((loss - want).abs() < 1e-9 * want, "{}: {loss} vs {want}", learner.typetag_name());
        }
    }
}

#[test]
fn an_inference_without_messages_is_refused() {
    let draw = Draw { sequences: 2, length: 5, labels: 2, unlabelled: 0, seed: 1 };
    let [tied, local] = [FEATURES, LOCAL].map(|features| Encoded::new(features, data(&draw)));
    let veb = VirtualEvidenceBoosting::default();
    let silent = JunctionTree::default();
    let error = quiet(1, |run| veb.fit(&tied.problem(&silent), run)).unwrap_err();
    assert!(
        matches!(error, Error::Unsupported { .. }) && error.to_string().contains("belief-propagation"),
        "{error}"
    );
    assert!(quiet(1, |run| veb.fit(&local.problem(&silent), run)).is_ok());
}

#[test]
fn the_default_inference_of_chains_trains_the_model_of_belief_propagation() {
    let draw = Draw { sequences: 20, length: 12, labels: 3, unlabelled: 0, seed: 4 };
    let encoded = Encoded::new(FEATURES, data(&draw));
    let veb = VirtualEvidenceBoosting { rounds: 8, ..VirtualEvidenceBoosting::default() };
    let [default, bp] = [&INFERENCE as &dyn Inference, &BeliefPropagation::default()]
        .map(|inference| text(&quiet(1, |run| veb.fit(&encoded.problem(inference), run)).unwrap()));
    assert_eq!(default, bp);
}
