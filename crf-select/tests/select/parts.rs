//! Selection in a part of the data, and on a part of the candidates.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crf_core::choose;
use crf_core::{
    Alphabet, Candidate, Channel, ChannelKind, DatasetBuilder, Decode, FitContext, Learner as _, LogLinear,
    Problem, Result, Schema, Seed, Selector, Source as _, Stop, Value,
};
use crf_datasets::{Size, StateOrTransition};
use crf_learn::{Minimisation, Mle};
use crf_select::{
    AsSelected, ForwardSettings, Grafting, InPart, LambdaPath, MEstimatorPath, Patches, Shortlist,
};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::{INFERENCE, quiet};

const FEATURES: &str = r#"["intercept", "transition", {"state": "value"}, {"state": "equals"}]"#;

fn encoded(sequences: usize) -> Encoded {
    Encoded::new(FEATURES, data(&Draw { sequences, length: 30, labels: 3, unlabelled: 0, seed: 9 }))
}

fn grafting(most: usize) -> Grafting {
    Grafting {
        settings: ForwardSettings { l2: 0.1, most, ..ForwardSettings::default() },
        ..Grafting::default()
    }
}

fn mle() -> Mle {
    Mle(Minimisation { l2: 0.5, ..Minimisation::default() })
}

fn weights(model: &dyn crf_core::Model) -> (Vec<String>, Vec<f64>) {
    let model: &LogLinear = model.log_linear().unwrap();
    ((0..model.map().len()).map(|k| model.map().name(k)).collect(), model.weights().to_vec())
}

#[test]
fn features_of_one_part_are_trained_in_another() {
    let all = encoded(8);
    let parts = [0..4, 4..8].map(|part| all.corpus.subset(&part.collect::<Vec<_>>()));
    let problem = Problem { valid: Some(&all.corpus), ..all.problem(&INFERENCE) };
    let in_part = |k: usize| Problem { train: &parts[k], valid: Some(&parts[k]), ..problem };
    let select_in =
        |k: usize| InPart { part: k + 1, of: 2, selector: Box::new(grafting(6)), ..InPart::default() };
    for (select, train) in [(0, 0), (0, 1), (1, 0)] {
        let chosen =
            quiet(1, |run| choose(&select_in(select), &mle(), Decode::Posterior, &problem, run)).unwrap();
        let want =
            quiet(1, |run| choose(&grafting(6), &mle(), Decode::Posterior, &in_part(select), run)).unwrap();
        assert_eq!((chosen.tried.len(), &chosen.features), (1, &want.features));
        assert_eq!(chosen.features.len(), chosen.map.len());
        let [found, wanted] = [&chosen, &want].map(|choice| weights(choice.model.as_ref().unwrap()));
        assert_eq!(found, wanted);

        let start = chosen.model.as_ref().map(|model| model as _);
        let learner = crf_learn::InPart { part: train + 1, of: 2, learner: Box::new(mle()) };
        let there = Problem { map: &chosen.map, start, ..problem };
        let found = weights(&*quiet(1, |run| learner.fit(&there, run)).unwrap().model);
        let there = Problem { train: &parts[train], valid: Some(&parts[train]), ..there };
        assert_eq!(found, weights(&*quiet(1, |run| mle().fit(&there, run)).unwrap().model));
        // `as-selected` keeps the weights that a method's own selector has found.
        let kept = AsSelected::default();
        assert_eq!(weights(&*quiet(1, |run| kept.fit(&there, run)).unwrap().model), wanted);
    }
    assert!(InPart { part: 3, of: 2, ..InPart::default() }.check().is_err());
    let uneven = InPart { of: 3, ..InPart::default() };
    assert!(quiet(1, |run| choose(&uneven, &mle(), Decode::Posterior, &problem, run)).is_err());
    assert!(crf_learn::InPart { part: 0, ..Default::default() }.check().is_err());
}

#[test]
fn a_short_list_finds_the_features_of_the_whole_list_once_it_was_rebuilt() {
    let all = encoded(8);
    let problem = all.problem(&INFERENCE);
    let last = |selector: &dyn crf_core::Selector| {
        let mut end = Vec::new();
        quiet(1, |run| {
            selector.path(&problem, run, &mut |candidate: Candidate<'_>| {
                assert!(candidate.features.iter().all(|&k| k < all.map.len()));
                end = candidate.features.to_vec();
                Ok(ControlFlow::Continue(()))
            })
        })
        .unwrap();
        end
    };
    let whole = last(&grafting(5));
    let short = |keep, share, growth| {
        let shortlist = Shortlist { of: Box::new(grafting(5)), keep, share, growth };
        last(&shortlist)
    };
    assert_eq!(short(1000, 1.0, 100.0), whole);
    assert_eq!(short(all.map.len() / 2, 1.0, 2.0), whole);
    // Grafting adds one feature at a time, so a list that is rebuilt for each feature may have one
    // candidate.
    assert_eq!(short(1, 1.0, 1.01), whole);
    // A list that is used up is rebuilt.
    assert_eq!(short(3, 0.5, 1e9).len(), 5);
    assert_eq!(short(8, 0.5, 2.0).len(), 5);
}

/// A selector that proposes all candidates, and counts its paths.
#[derive(Debug, Serialize, Deserialize)]
struct Everything {}

static N_PATHS: AtomicUsize = AtomicUsize::new(0);

#[typetag::serde(name = "everything")]
impl Selector for Everything {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn path(
        &self,
        problem: &Problem<'_>,
        run: &mut FitContext<'_>,
        emit: &mut dyn FnMut(Candidate<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<Stop> {
        N_PATHS.fetch_add(1, Ordering::Relaxed);
        let (features, weights): (Vec<usize>, Vec<f64>) = (0..problem.map.len()).map(|k| (k, 0.1)).unzip();
        let weights = Some(&weights[..]);
        let _ = emit(Candidate { features: &features, weights, objective: None, seconds: run.seconds() })?;
        Ok(Stop::Converged)
    }
}

// With lists that each brought one feature the path was followed once for each candidate.
#[test]
fn lists_that_add_little_end_a_short_list() {
    let names: Vec<String> = (0..60).map(|k| format!("x{k}")).collect();
    let channels = names.iter().map(|name| Channel { name: name.clone(), kind: ChannelKind::Real }).collect();
    let schema = Schema::chain(channels, Alphabet::new(["no", "yes"])).unwrap();
    let mut data = DatasetBuilder::new(Arc::new(schema));
    let mut draw = Seed::new(4).rng();
    for t in 0..50 {
        let values: Vec<Value<'_>> =
            names.iter().map(|_| Value::Real(draw.random_range(-1.0..1.0))).collect();
        data.push(&values, Some(t % 2)).unwrap();
    }
    data.end_chain().unwrap();
    let all = Encoded::new(r#"[{"state": "value"}]"#, data.finish());
    let shortlist = Shortlist { of: Box::new(Everything {}), keep: 1, share: 1.0, growth: 1e9 };
    let mut largest = 0;
    let stop = quiet(1, |run| {
        shortlist.path(&all.problem(&INFERENCE), run, &mut |candidate| {
            largest = candidate.features.len();
            Ok(ControlFlow::Continue(()))
        })
    });
    let n_paths = N_PATHS.load(Ordering::Relaxed);
    assert!(stop.is_ok() && largest >= 10 && n_paths <= 15, "{n_paths} paths for {largest} features");
}

/// Weights of all state features and of all transition features, by candidate.
fn by_kind(selector: &MEstimatorPath, problem: &Problem<'_>) -> Vec<(Vec<f64>, Vec<f64>)> {
    let (mut all, n) = (Vec::new(), problem.map.state().len());
    quiet(1, |run| {
        selector.path(problem, run, &mut |candidate: Candidate<'_>| {
            let mut w = vec![0.0; problem.map.len()];
            candidate.features.iter().zip(candidate.weights.unwrap()).for_each(|(&k, &weight)| w[k] = weight);
            let transition = w.split_off(n);
            all.push((w, transition));
            Ok(ControlFlow::Continue(()))
        })
    })
    .unwrap();
    all
}

#[test]
fn true_neighbours_do_not_keep_state_features_out_of_the_pieces_of_an_m_estimator() {
    // Labels that hardly ever change, so that a neighbour tells nearly all, and numbers that depend
    // on them.
    let size = Size { sequences: 5, length: 400 };
    let source = StateOrTransition { pairs: 2, noise: 1.0, stay: 0.99, train: size, ..Default::default() };
    let features = r#"["intercept", "transition", {"state": "value"}, {"transition": "value"}]"#;
    let all = Encoded::new(features, source.load(&Seed::new(3)).unwrap().train);
    let problem = all.problem(&INFERENCE);
    let n = all.map.state().len();
    let path = |patches| {
        let penalties = LambdaPath { decay: 0.8, floor: 1e-4, ..LambdaPath::default() };
        MEstimatorPath { patches, weights: true, lambda_path: penalties, ..MEstimatorPath::default() }
    };
    let pieces = by_kind(&path(Patches::Pieces), &problem);
    // Each piece has the path that its features have without the others.
    let alone = |keep: &dyn Fn(usize) -> bool| {
        let map = Arc::new(all.map.narrow(keep).0);
        by_kind(&path(Patches::Positions), &Problem { map: &map, ..problem })
    };
    let (state, transition) = (alone(&|k| k < n), alone(&|k| k >= n));
    let is_zero = |w: &[f64]| w.iter().all(|&w| w == 0.0);
    let (mut last, mut n_state) = ((0, 0), 0);
    for (of_state, of_transition) in &pieces {
        let find = |w: &[f64], from: usize, path: &dyn Fn(usize) -> Option<Vec<f64>>| {
            if is_zero(w) {
                Some(from)
            } else {
                (from..).map_while(|i| Some((i, path(i)?))).find(|(_, other)| other == w).map(|(i, _)| i)
            }
        };
        let state_point = find(of_state, last.0, &|i| state.get(i).map(|point| point.0.clone()));
        let transition_point =
            find(of_transition, last.1, &|i| transition.get(i).map(|point| point.1.clone()));
        last = (
            state_point.expect("a point of the state features"),
            transition_point.expect("a point of the transition features"),
        );
        n_state = n_state.max(of_state.iter().filter(|&&w| w != 0.0).count());
    }
    assert!(n_state >= 2 && !is_zero(&pieces.last().unwrap().1), "{n_state}");
    // The penalty of state features is multiplied by the length of runs: they enter later than
    // alone.
    let first = |path: &[(Vec<f64>, Vec<f64>)]| path.iter().position(|point| !is_zero(&point.0)).unwrap();
    assert!(first(&pieces) > first(&state));
    // With `keep`, the same share of both kinds takes part, whichever has the larger derivatives.
    let keep = Some(all.map.len() / 4);
    let stages = by_kind(&MEstimatorPath { keep, ..path(Patches::Pieces) }, &problem);
    assert!(stages.iter().any(|point| !is_zero(&point.0)) && stages.iter().any(|point| !is_zero(&point.1)));
}

#[test]
fn the_list_of_an_m_estimator_gets_rid_of_copies() {
    // Six copies of a number that says nearly everything, and a number that says the rest.
    let names = ["a", "b", "c", "d", "e", "f", "rest"];
    let channel = |name: &str| Channel { name: name.into(), kind: ChannelKind::Real };
    let schema = Schema::chain(names.map(channel).to_vec(), Alphabet::new(["no", "yes"])).unwrap();
    let mut data = DatasetBuilder::new(Arc::new(schema));
    let mut draw = Seed::new(2).rng();
    for _ in 0..300 {
        let [x, rest] = std::array::from_fn(|_| draw.random_range(-1.0..1.0));
        let mut values = [x; 7].map(|x: f64| x + draw.random_range(-0.01..0.01));
        values[6] = rest;
        data.push(&values.map(Value::Real), Some(u32::from(x + 0.4 * rest > 0.0))).unwrap();
    }
    data.end_chain().unwrap();
    let all = Encoded::new(r#"[{"state": "value"}]"#, data.finish());
    let says_rest = |k: usize| all.map.name(k).contains("rest");
    let stages = MEstimatorPath { weights: true, keep: Some(4), ..MEstimatorPath::default() };
    let path = by_kind(&stages, &all.problem(&INFERENCE));
    let has_rest = |w: &[f64]| (0..w.len()).any(|k| w[k] != 0.0 && says_rest(k));
    assert!(!has_rest(&path[0].0) && has_rest(&path.last().unwrap().0));
}
