//! Conformance of all plugins: each has an example that works, is listed, and keeps its promises. A
//! new plugin needs no test of its own here.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crf_bench::config::{Plan, experiment_files, load, parse};
use crf_bench::{Cell, Kind, example, experiment};
use crf_core::{
    Beliefs, Bound, Candidate, Decode, EdgeBeliefs, EncodedDataset, FeatureMap, Features, FitContext,
    FittedFeatures, Inference, Iteration, Learner, Model, OwnedPotentials, Plugin, Problem, Scratch, Seed,
    Selector, Source as _, evaluate, oracle,
};
use crf_datasets::Weather;
use crf_datasets::{Format, Text};
use serde::de::DeserializeOwned;
use toml::{Table, Value};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn kind_of(plugin: &Plugin) -> Kind {
    Kind::named(plugin.kind).unwrap_or_else(|error| panic!("{error}: add it to `Kind::ALL`"))
}

fn example_of(plugin: &Plugin) -> Table {
    example(plugin).unwrap_or_else(|error| panic!("{} {}: {error}", plugin.kind, plugin.tag))
}

/// All plugins of a kind, from their examples.
fn built<T: DeserializeOwned>(kind: &str) -> Vec<(&'static str, T)> {
    let plugins = Kind::named(kind).expect("a kind").plugins();
    plugins
        .map(|plugin| {
            let built = example_of(plugin).try_into::<T>();
            (plugin.tag, built.unwrap_or_else(|error| panic!("{kind} {}: {error}", plugin.tag)))
        })
        .collect()
}

/// The experiment of a plugin's example, with other values for some of its keys.
fn plan(plugin: &Plugin, changes: &[(&str, Value)]) -> Option<Plan> {
    let mut table = experiment(plugin, &example_of(plugin))?;
    for (key, value) in changes {
        table.insert((*key).to_owned(), value.clone());
    }
    let text = toml::to_string(&table).expect("TOML");
    let name = format!("{} {}", plugin.kind, plugin.tag);
    Some(parse(&name, &text, false, &[]).unwrap_or_else(|error| panic!("{error}\n{text}")))
}

/// The parts of a cell that must be the same in every run.
fn outcome(cell: Cell) -> (String, Vec<u64>, usize, usize) {
    let bits = cell.metrics.iter().map(|metric| metric.to_bits()).collect();
    (cell.seed, bits, cell.features, cell.iterations)
}

#[test]
fn every_plugin_has_an_example_that_survives_a_round_trip() {
    for plugin in Plugin::all() {
        let (kind, name) = (kind_of(plugin), format!("{} `{}`", plugin.kind, plugin.tag));
        let once = kind.read(&example_of(plugin)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let twice = kind.read(&once).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(once, twice, "{name}");
        let tag = once.get("type").and_then(|tag| tag.as_str()).or(once.keys().next().map(String::as_str));
        assert_eq!(tag, Some(plugin.tag), "{name}");
    }
}

#[test]
fn every_registered_plugin_is_on_the_list_and_documented() {
    for kind in Kind::ALL {
        let message = kind.read(&kind.bare("nobody")).expect_err("nobody is no plugin").to_string();
        let registered: BTreeSet<&str> = message.split('`').skip(3).step_by(2).collect();
        assert_eq!(registered, kind.plugins().map(|plugin| plugin.tag).collect(), "{}: {message}", kind.name);
    }
    let silent = Plugin::all().into_iter().find(|plugin| plugin.summary().is_empty());
    assert!(silent.is_none(), "{silent:?} has no documentation");
}

#[test]
fn all_experiment_files_are_right() {
    let files = experiment_files(&here("../experiments"));
    assert!(!files.is_empty());
    for file in files {
        for quick in [false, true] {
            load(&file, quick, &[]).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// Larger data are drawn or read twice, but nothing is run on them here.
const LITTLE: usize = 2_000;

#[test]
fn every_example_runs_to_the_same_bits_at_any_number_of_threads() {
    for plugin in Plugin::all() {
        let Some(plan) = plan(plugin, &[("trials", 1.into())]) else { continue };
        let place = format!("{} {}", plugin.kind, plugin.tag);
        let load =
            || plan.points[0].dataset.load(&Seed::new(7)).map(|data| (data.train, data.holdout, data.test));
        let data = match load() {
            Ok(data) => data,
            // Real data are not everywhere; an error must then say what is missing.
            Err(error) => {
                assert!(
                    plugin.kind == "source" && error.to_string().contains("CRF_DATA"),
                    "{place}: {error}"
                );
                continue;
            }
        };
        if plugin.kind == "source" {
            assert!(load().is_ok_and(|again| again == data), "{place}: other data from the same seed");
        }
        if data.0.n_positions() + data.2.n_positions() > LITTLE {
            continue;
        }
        let run = |threads: usize| {
            let results = crf_bench::run(&plan, NonZeroUsize::new(threads).expect("a number"));
            let results = results.unwrap_or_else(|error| panic!("{place}: {error}"));
            results.cells.into_iter().map(outcome).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(3), "{place}");
    }
}

/// Data at the edge of what there is, which a plugin takes or refuses with a reason.
fn edges() -> [(&'static str, Weather); 6] {
    let usual = Weather::default();
    [
        ("tiny data", Weather { sequences: 2, days: 2, ..usual.clone() }),
        ("a single label", Weather { labels: 1, ..usual.clone() }),
        ("a single position", Weather { days: 1, ..usual.clone() }),
        ("two days of one label", Weather { labels: 1, sequences: 2, days: 1, ..usual.clone() }),
        ("some labels missing", Weather { unlabelled: 0.3, ..usual.clone() }),
        ("no label at all", Weather { unlabelled: 1.0, ..usual }),
    ]
}

/// True if some label does not occur in the training data, or some position has none.
fn lacks_a_label(plan: &Plan) -> bool {
    let seed = Seed::new(plan.experiment.seed).child("data").child("trial 1").child("");
    let train = plan.points[0].dataset.load(&seed).expect("data").train;
    let labels: Vec<_> = (0..train.len()).flat_map(|i| train.sequence(i).labels().to_vec()).collect();
    let occurs = |label: u32| labels.contains(&Some(label));
    labels.contains(&None) || !(0..train.schema().n_labels(0) as u32).all(occurs)
}

#[test]
fn plugins_stand_data_at_the_edge() {
    for plugin in Plugin::all() {
        if !["inference", "learner", "metric", "optimizer", "prototype", "selector"].contains(&plugin.kind) {
            continue;
        }
        let example = plan(plugin, &[]).expect("an example");
        let chunks = serde_json::to_value(&example.points[0].dataset).expect("JSON")["chunks"] == true;
        for (what, weather) in edges() {
            let place = format!("{} {}, {what}", plugin.kind, plugin.tag);
            let mut dataset = Table::try_from(&weather).expect("TOML");
            dataset.insert("type".to_owned(), "weather".into());
            dataset.insert("chunks".to_owned(), chunks.into());
            let plan =
                plan(plugin, &[("dataset", dataset.into()), ("trials", 1.into())]).expect("an example");
            let run = || crf_bench::run(&plan, NonZeroUsize::MIN);
            match catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| panic!("{place}: it panicked")) {
                Ok(results) => {
                    let metrics = results.cells.iter().flat_map(|cell| &cell.metrics);
                    assert!(
                        metrics.clone().all(|metric| metric.is_finite()),
                        "{place}: {:?}",
                        metrics.collect::<Vec<_>>()
                    );
                }
                // Only a label that never occurs is a reason to refuse.
                Err(error) => assert!(lacks_a_label(&plan), "{place}: {error}"),
            }
        }
    }
}

#[test]
fn inferences_keep_what_their_answers_promise() {
    for (tag, inference) in built::<Box<dyn Inference>>("inference") {
        for (trial, (len, labels)) in [(1, 2), (2, 3), (4, 2), (5, 3), (6, 1)].into_iter().enumerate() {
            let mut x = OwnedPotentials::random(len, labels, 2.0, &Seed::new(trial as u64));
            let p = x.view();
            let (log_z, mut scratch) = (oracle::log_z(&p), Scratch::new());
            let best = oracle::all_labellings(&p).iter().map(|of| of.score).fold(f64::NEG_INFINITY, f64::max);
            let mut node = vec![0.0; len * labels];
            if let Ok(got) =
                inference.infer(&p, &mut Beliefs { node: &mut node, edge: EdgeBeliefs::None }, &mut scratch)
            {
                let error = got.value - log_z;
                let kept = match got.bound {
                    Bound::Exact => error.abs() < 1e-9,
                    Bound::Lower => error < 1e-9,
                    Bound::Upper => error > -1e-9,
                    Bound::Estimate => error.is_finite(),
                };
                assert!(kept, "{tag}: log Z is {log_z}, the answer {got:?}");
                for row in node.chunks(labels) {
                    assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{tag}: {row:?}");
                }
            }
            let mut found = vec![0; len];
            let decoded = inference
                .decode(&p, &mut found, &mut scratch)
                .unwrap_or_else(|error| panic!("{tag}: {error}"));
            assert!((decoded.score - p.score(&found)).abs() < 1e-9, "{tag}: {decoded:?} for {found:?}");
            assert!(
                decoded.upper.is_none_or(|upper| upper > best - 1e-9),
                "{tag}: {decoded:?}, the best has {best}"
            );
        }
    }
}

/// Encoded data with their features, and an inference that every learner takes.
struct Encoded {
    features: FittedFeatures,
    train: EncodedDataset,
    test: EncodedDataset,
    map: Arc<FeatureMap>,
    inference: Box<dyn Inference>,
}

impl Encoded {
    fn draw() -> Self {
        let data =
            Weather { noise: 0.4, sequences: 6, ..Weather::default() }.load(&Seed::new(3)).expect("data");
        let features: Features =
            serde_json::from_str(r#"["intercept", "transition", {"state": "value"}]"#).expect("features");
        let features = features.fit(&data.train).expect("features");
        let [train, test] =
            [data.train, data.test].map(|part| features.encode(Arc::new(part)).expect("a corpus"));
        let map = Arc::new(features.map(&train).expect("a map"));
        let inference = serde_json::from_str(r#"{"type": "belief-propagation"}"#).expect("inference");
        Encoded { features, train, test, map, inference }
    }

    fn problem(&self) -> Problem<'_> {
        Problem::new(&self.train, &self.map, &*self.inference)
    }
}

/// The predictions of a model, and its bytes as a file.
fn answers(model: &dyn Model, of: &Encoded) -> (Vec<u32>, Vec<u8>) {
    let evaluation = evaluate(model, &of.test, &*of.inference, Decode::Posterior).expect("answers");
    (evaluation.predicted, postcard::to_extend(&model, Vec::new()).expect("a model that can be saved"))
}

#[test]
fn learners_keep_what_their_traces_promise_and_their_models_survive_a_file() {
    let data = Encoded::draw();
    for (tag, learner) in built::<Box<dyn Learner>>("learner") {
        let (problem, mut seen) = (data.problem(), Vec::new());
        let mut watch = |iteration: &Iteration| {
            seen.push(iteration.clone());
            ControlFlow::Continue(())
        };
        let fit = learner.fit(&problem, &mut FitContext::new(Seed::new(1), &mut watch));
        let fit = fit.unwrap_or_else(|error| panic!("{tag}: {error}"));
        assert!(seen.len() <= fit.trace.iterations.len(), "{tag}: iterations that the trace does not know");
        for iteration in &fit.trace.iterations {
            assert!(iteration.objective.is_finite(), "{tag}: {iteration:?}");
            let slack = 1e-9 * (1.0 + iteration.objective.abs());
            assert!(
                iteration.gap().is_none_or(|gap| gap > -slack),
                "{tag}: a dual above the objective, {iteration:?}"
            );
        }
        let weights = fit.model.log_linear().map(|model| model.weights().to_vec());
        assert!(weights.into_iter().flatten().all(f64::is_finite), "{tag}: weights that are not finite");
        let before = answers(&*fit.model, &data);
        let again = postcard::from_bytes::<Box<dyn Model>>(&before.1);
        let mut again = again.unwrap_or_else(|error| panic!("{tag}: its model cannot be read back: {error}"));
        again.restore(&data.features).unwrap_or_else(|error| panic!("{tag}: {error}"));
        assert!(answers(&*again, &data) == before, "{tag}: another model came back from its file");
    }
}

#[test]
fn selectors_propose_features_that_there_are() {
    let data = Encoded::draw();
    for (tag, selector) in built::<Box<dyn Selector>>("selector") {
        let path = || {
            let problem = Problem { valid: Some(&data.test), ..data.problem() };
            let mut found = Vec::new();
            let mut watch = |_: &Iteration| ControlFlow::Continue(());
            let mut run = FitContext::new(Seed::new(1), &mut watch);
            let stop = selector.path(&problem, &mut run, &mut |candidate| {
                let Candidate { features, weights, objective, .. } = candidate;
                assert!(features.is_sorted_by(|a, b| a < b), "{tag}: {features:?} do not ascend");
                assert!(features.last().is_none_or(|&last| last < data.map.len()), "{tag}: {features:?}");
                assert!(objective.is_none_or(f64::is_finite), "{tag}: the objective is {objective:?}");
                let fits = |weights: &[f64]| {
                    weights.len() == features.len() && weights.iter().all(|weight| weight.is_finite())
                };
                assert!(weights.is_none_or(fits), "{tag}: {weights:?} for {features:?}");
                found.push((features.to_vec(), weights.map(<[f64]>::to_vec)));
                Ok(ControlFlow::Continue(()))
            });
            stop.unwrap_or_else(|error| panic!("{tag}: {error}"));
            found
        };
        let found = path();
        assert!(!found.is_empty(), "{tag}: no candidate");
        assert!(path() == found, "{tag}: another path in a second run");
    }
}

#[test]
fn formats_read_what_they_write() {
    let data = Weather::default().load(&Seed::new(5)).expect("data").train;
    for (tag, format) in built::<Box<dyn Format>>("format") {
        let mut once = Vec::new();
        // A format that has no place for some sort of channel says so.
        if let Err(error) = format.write(&data, &mut once) {
            assert!(!error.to_string().is_empty(), "{tag}");
            continue;
        }
        let mut twice = Vec::new();
        let read = format.read(Text::new(tag, &mut &once[..]), None, usize::MAX, &mut |data| {
            format.write(&data, &mut twice).map(|()| ControlFlow::Continue(()))
        });
        read.unwrap_or_else(|error| panic!("{tag}: {error}\n{}", String::from_utf8_lossy(&once)));
        assert_eq!(String::from_utf8_lossy(&once), String::from_utf8_lossy(&twice), "{tag}");
    }
}
