//! Invariants of every selector.

use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{
    Alphabet, Candidate, Channel, ChannelKind, Constraints, Dataset, DatasetBuilder, Decode, Error,
    FitContext, Iteration, Learner, LogLinear, Plugin, Problem, Schema, Seed, Selector, Stop, Value,
};
use crf_core::{TriedCandidate, choose};
use crf_learn::{Minimisation, Mle};
use crf_select::{AsSelected, CrossValidated};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::{INFERENCE, on_threads, quiet};

/// Selectors that rank or train, as configs write them.
const SELECTORS: [&str; 10] = [
    r#"{"type": "l1-path"}"#,
    r#"{"type": "grafting", "l2": 0.1}"#,
    r#"{"type": "grafting", "l2": 0.1, "per_round": 2}"#,
    r#"{"type": "mean-field-gain", "l2": 0.1}"#,
    r#"{"type": "mean-field-gain", "l2": 0.1, "neighbours": "likely", "positions": "mistakes"}"#,
    r#"{"type": "m-estimator-path"}"#,
    r#"{"type": "mutual-information"}"#,
    r#"{"type": "correlation"}"#,
    r#"{"type": "relief"}"#,
    r#"{"type": "forward-wrapper", "l2": 0.1, "budget": 60, "tries": 8}"#,
];

/// Wrappers around selectors, and the M-estimator in two stages.
const AROUND: [&str; 5] = [
    r#"{"type": "patient", "of": "l1-path"}"#,
    r#"{"type": "cross-validated", "of": "grafting", "folds": 2}"#,
    r#"{"type": "shortlist", "keep": 10, "share": 0.5, "of": {"type": "grafting", "most": 12}}"#,
    r#"{"type": "in-part", "part": 1, "of": 2, "selector": "l1-path"}"#,
    r#"{"type": "m-estimator-path", "keep": 20, "weights": true}"#,
];

/// The selectors of the list that are linked; one that was removed from the crate is not missed.
fn selectors() -> impl Iterator<Item = &'static str> {
    let tags: Vec<String> = Plugin::all()
        .iter()
        .filter(|plugin| plugin.kind == "selector")
        .map(|plugin| plugin.tag.to_owned())
        .collect();
    let is_linked = move |text: &&str| tags.iter().any(|tag| text.contains(&format!(r#""type": "{tag}""#)));
    SELECTORS.into_iter().filter(is_linked)
}

fn selector(text: &str) -> Box<dyn Selector> {
    let selector: Box<dyn Selector> = serde_json::from_str(text).unwrap();
    selector.check().unwrap();
    selector
}

fn learner() -> Mle {
    Mle(Minimisation { l2: 0.1, ..Minimisation::default() })
}

/// Labels that are `yes` if a + b > 0, with a wide margin; ten other channels are noise.
fn separable(seed: u64, sequences: usize) -> Dataset {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    let channels = names.iter().map(|&name| Channel { name: name.into(), kind: ChannelKind::Real }).collect();
    let schema = Arc::new(Schema::chain(channels, Alphabet::new(["no", "yes"])).unwrap());
    let (mut rng, mut builder) = (Seed::new(seed).rng(), DatasetBuilder::new(schema));
    for _ in 0..sequences {
        for _ in 0..50 {
            let x = loop {
                let x: [f64; 12] = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
                if (x[0] + x[1]).abs() > 0.5 {
                    break x;
                }
            };
            builder.push(&x.map(Value::Real), Some(u32::from(x[0] + x[1] > 0.0))).unwrap();
        }
        builder.end_chain().unwrap();
    }
    builder.finish()
}

#[test]
fn every_selector_finds_exactly_the_true_features() {
    let rules: Vec<String> = "abcdefghijkl".chars().map(|name| format!("\"y=yes ∧ {name}\"")).collect();
    let features = format!(r#"[{{"state": {{"type": "relational", "rules": [{}]}}}}]"#, rules.join(", "));
    let [train, valid] = [1, 2].map(|seed| Encoded::new(&features, separable(seed, 8)));
    for text in selectors() {
        let problem = Problem { valid: Some(&valid.corpus), ..train.problem(&INFERENCE) };
        let chosen =
            quiet(3, |run| choose(&*selector(text), &learner(), Decode::Posterior, &problem, run)).unwrap();
        let names: Vec<String> = (0..chosen.map.len()).map(|k| chosen.map.name(k)).collect();
        assert_eq!(names, ["y=yes ∧ a", "y=yes ∧ b"], "{text}");
        assert_eq!(chosen.tried[chosen.best.unwrap()].score, Some(0.0), "{text}");
    }
}

const FEATURES: &str =
    r#"["intercept", "transition", {"state": "value"}, {"state": "equals"}, {"transition": "equals"}]"#;

fn chains(seed: u64) -> Encoded {
    Encoded::new(FEATURES, data(&Draw { sequences: 8, length: 30, labels: 3, unlabelled: 0, seed }))
}

/// Candidates of a path, at most 12: features, and the bits of weights and objective.
fn bits(text: &str, problem: &Problem<'_>) -> Vec<(Vec<usize>, Vec<u64>, Option<u64>)> {
    let mut all = Vec::new();
    quiet(1, |run| {
        selector(text).path(problem, run, &mut |candidate| {
            let weights = candidate.weights.unwrap_or_default().iter().map(|w| w.to_bits()).collect();
            assert!(candidate.features.windows(2).all(|pair| pair[0] < pair[1]), "{text}");
            assert!(candidate.features.last().is_none_or(|&last| last < problem.map.len()), "{text}");
            all.push((candidate.features.to_vec(), weights, candidate.objective.map(f64::to_bits)));
            Ok(if all.len() == 12 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })
    })
    .unwrap();
    all
}

#[test]
fn paths_are_the_same_at_any_number_of_threads() {
    // Enough positions for several shards.
    let draw = |seed| data(&Draw { sequences: 150, length: 60, labels: 3, unlabelled: 0, seed });
    let (train, valid) = (Encoded::new(FEATURES, draw(4)), Encoded::new(FEATURES, draw(5)));
    let problem = Problem { valid: Some(&valid.corpus), ..train.problem(&INFERENCE) };
    for text in selectors().chain(AROUND) {
        let [one, three] = [1, 3].map(|threads| on_threads(threads, || bits(text, &problem)));
        assert!(!one.is_empty() && one == three, "{text}");
    }
}

#[test]
fn a_sequence_of_weight_two_counts_as_two() {
    let draw = data(&Draw { sequences: 8, length: 30, labels: 3, unlabelled: 0, seed: 12 });
    let draw = draw.reweighted(|_| 1.0).unwrap();
    let twice = draw.subset(&[0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2]);
    let heavy = draw.reweighted(|i| if i < 3 { 2.0 } else { 1.0 }).unwrap();
    let [twice, heavy] = [twice, heavy].map(|data| Encoded::new(FEATURES, data));
    // Relief draws positions, and the two datasets have different numbers of them.
    for text in selectors().filter(|text| !text.contains("relief")) {
        // A tight tolerance, so that it does not decide which features enter.
        let exact = text.replace(r#"-path""#, r#"-path", "tolerance": 1e-8"#);
        let [twice, heavy] = [&twice, &heavy].map(|encoded| bits(&exact, &encoded.problem(&INFERENCE)));
        let features = |path: &[(Vec<usize>, Vec<u64>, Option<u64>)]| {
            path.iter().map(|(features, ..)| features.clone()).take(8).collect::<Vec<_>>()
        };
        assert_eq!(features(&twice), features(&heavy), "{text}");
    }
}

/// A selector with shorter paths for more sequences.
#[derive(Debug, Serialize, Deserialize)]
struct Shorter {}

#[typetag::serde(name = "shorter")]
impl Selector for Shorter {
    fn check(&self) -> crf_core::Result<()> {
        Ok(())
    }

    fn path(
        &self,
        problem: &Problem<'_>,
        run: &mut FitContext<'_>,
        emit: &mut dyn FnMut(Candidate<'_>) -> crf_core::Result<ControlFlow<()>>,
    ) -> crf_core::Result<Stop> {
        for n in 1..=12 - problem.train.len() {
            let (features, weights): (Vec<usize>, Vec<f64>) = (0..n).map(|k| (k, k as f64)).unzip();
            let weights = Some(&weights[..]);
            let candidate =
                Candidate { features: &features, weights, objective: None, seconds: run.seconds() };
            if emit(candidate)?.is_break() {
                return Ok(Stop::Observer);
            }
        }
        Ok(Stop::Converged)
    }
}

#[test]
fn folds_choose_the_last_candidate_of_a_path_that_ends_before_theirs() {
    // Eight sequences: a path without a fold has six candidates, the path on all sequences has
    // four.
    let encoded = chains(9);
    for seed in 0..10 {
        let folds = CrossValidated { of: Box::new(Shorter {}), folds: 4, decode: Decode::Posterior };
        let mut shown = Vec::new();
        let stop = quiet(seed, |run| {
            folds.path(&encoded.problem(&INFERENCE), run, &mut |candidate| {
                shown.push((candidate.features.len(), candidate.weights.unwrap().to_vec()));
                Ok(ControlFlow::Continue(()))
            })
        });
        assert_eq!(stop.unwrap(), Stop::Holdout);
        let [(n, weights)] = &shown[..] else { panic!("{shown:?}") };
        assert!(*n <= 4 && weights.len() == *n, "{shown:?}");
    }
}

#[test]
fn an_observer_can_stop_any_selector_that_trains() {
    let encoded = chains(11);
    for text in selectors().filter(|text| text.contains("path") || text.contains("l2")) {
        let mut n_seen = 0;
        let mut watch = |_: &Iteration| {
            n_seen += 1;
            if n_seen < 5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let run = &mut FitContext::new(Seed::new(1), &mut watch);
        let stop =
            selector(text).path(&encoded.problem(&INFERENCE), run, &mut |_| Ok(ControlFlow::Continue(())));
        assert_eq!((stop.unwrap(), n_seen), (Stop::Observer, 5), "{text}");
    }
}

#[test]
fn candidates_are_compared_under_the_constraints() {
    // The labels a, b and c in turn, and observations that say little about them.
    let channel = Channel { name: "x".into(), kind: ChannelKind::Real };
    let schema = Arc::new(Schema::chain(vec![channel], Alphabet::new(["a", "b", "c"])).unwrap());
    let draw = |seed| {
        let (mut rng, mut builder) = (Seed::new(seed).rng(), DatasetBuilder::new(schema.clone()));
        for _ in 0..6 {
            let first = rng.random_range(0..3);
            for t in 0..20 {
                let label = (first + t) % 3;
                let x = f64::from(label) + rng.random_range(-3.0..3.0);
                builder.push(&[Value::Real(x)], Some(label)).unwrap();
            }
            builder.end_chain().unwrap();
        }
        Encoded::new(r#"["intercept", {"state": "value"}]"#, builder.finish())
    };
    let (train, valid) = (draw(1), draw(2));
    let names = ["a", "b", "c"];
    let never = (0..3).flat_map(|i| [i, (i + 2) % 3].map(|j| (names[i].to_owned(), names[j].to_owned())));
    let constraints = Constraints { forbid: never.collect(), ..Constraints::default() };
    let forbidden = constraints.resolve(&schema).unwrap();
    let free = Problem { valid: Some(&valid.corpus), ..train.problem(&INFERENCE) };
    let problem = Problem { forbidden: Some(&forbidden), ..free };
    // The M-estimator does not support constraints and returns an error.
    for text in selectors().filter(|text| !text.contains("m-estimator")) {
        let lowest = |problem: &Problem<'_>| {
            let chosen =
                quiet(1, |run| choose(&*selector(text), &learner(), Decode::Posterior, problem, run))
                    .unwrap();
            chosen.tried.iter().map(|tried| tried.score.unwrap()).fold(f64::INFINITY, f64::min)
        };
        let (held, free) = (lowest(&problem), lowest(&free));
        // Under the constraints one label of a chain determines all of them.
        assert!(held < 0.15 && free > 0.4, "{text}: {held} and {free}");
    }
}

#[test]
fn the_choice_is_the_first_of_those_with_the_lowest_score() {
    let (train, valid) = (chains(5), chains(6));
    let problem = Problem { valid: Some(&valid.corpus), ..train.problem(&INFERENCE) };
    for text in selectors() {
        let chosen =
            quiet(1, |run| choose(&*selector(text), &learner(), Decode::Posterior, &problem, run)).unwrap();
        let score = |tried: &TriedCandidate| tried.score.unwrap();
        let lowest = chosen.tried.iter().map(score).fold(f64::INFINITY, f64::min);
        assert_eq!(chosen.tried.iter().position(|tried| tried.score == Some(lowest)), chosen.best, "{text}");
        assert_eq!(chosen.map.len(), chosen.tried[chosen.best.unwrap()].features, "{text}");
        let seconds: Vec<f64> = chosen.tried.iter().map(|tried| tried.seconds).collect();
        assert!(seconds.is_sorted(), "{text}");
        // `as-selected` keeps the weights of the choice.
        let kept = AsSelected { selector: selector(text), decode: Decode::Posterior };
        let kept = quiet(1, |run| kept.fit(&problem, run));
        let weights = |model: &LogLinear| model.weights().to_vec();
        assert_eq!(
            match kept {
                Ok(fit) => fit.model.log_linear().map(weights),
                Err(error) => {
                    assert!(matches!(error, Error::Unsupported { .. }), "{text}: {error}");
                    None
                }
            },
            chosen.model.as_ref().map(weights),
            "{text}"
        );
    }
}

#[test]
fn patience_ends_a_path_and_folds_choose_one_candidate() {
    let (train, valid) = (chains(7), chains(8));
    let problem = Problem { valid: Some(&valid.corpus), ..train.problem(&INFERENCE) };
    let run = |text: &str| {
        quiet(1, |run| choose(&*selector(text), &learner(), Decode::Posterior, &problem, run)).unwrap()
    };
    let (all, some) =
        (run(r#"{"type": "l1-path"}"#), run(r#"{"type": "patient", "of": "l1-path", "patience": 10}"#));
    assert_eq!(some.stop, crf_core::Stop::Holdout);
    let same = |a: &TriedCandidate, b: &TriedCandidate| (a.features, a.score) == (b.features, b.score);
    assert!(some.tried.len() < all.tried.len() && some.tried.len() >= some.best.unwrap() + 11);
    assert!(some.tried.iter().zip(&all.tried).all(|(a, b)| same(a, b)));
    let folds = run(r#"{"type": "cross-validated", "of": "l1-path", "folds": 4}"#);
    assert_eq!(folds.tried.len(), 1);
    assert!(all.tried.iter().any(|tried| same(tried, &folds.tried[0])));
}
