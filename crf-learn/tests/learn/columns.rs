//! Every learner on columns as users have them: huge, tiny, constant, nearly equal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crf_core::{
    Alphabet, Channel, ChannelKind, DatasetBuilder, Decode, Learner, Plugin, Schema, Seed, Value, evaluate,
    feature_units, warn_of_units,
};
use crf_inference::BeliefPropagation;
use crf_testing::problems::Encoded;
use crf_testing::runs::quiet;
use crf_testing::warnings;
use rand::RngExt as _;

/// Longest time of a training on sixty positions.
const PATIENCE: Duration = Duration::from_secs(20);

/// Six chains of ten positions, whose two columns are those of `values` of a number that tells one
/// of three labels with some noise.
fn encoded(values: impl Fn(f64) -> [f64; 2]) -> Encoded {
    let channels = ["x", "z"].map(|name| Channel { name: name.into(), kind: ChannelKind::Real });
    let schema = Arc::new(Schema::chain(channels.to_vec(), Alphabet::new(["a", "b", "c"])).unwrap());
    let mut rng = Seed::new(5).rng();
    let mut data = DatasetBuilder::new(schema);
    for t in 0..60 {
        let y = rng.random_range(0..3_u32);
        let [x, z] = values(f64::from(y) - 1.0 + 0.5 * (2.0 * rng.random::<f64>() - 1.0));
        data.push(&[Value::Real(x), Value::Real(z)], Some(y)).unwrap();
        if t % 10 == 9 {
            data.end_chain().unwrap();
        }
    }
    Encoded::new(r#"["intercept", "transition", {"state": "value"}]"#, data.finish())
}

/// Trains every learner that needs no more than its defaults, and asserts that it ends in time,
/// either with an error that says what would help or with a model that labels the data.
fn every_learner_ends(name: &str, says_scaling_helps: bool, values: impl Fn(f64) -> [f64; 2]) {
    let encoded = encoded(values);
    let inference = BeliefPropagation::default();
    let mut n_trained = 0;
    for plugin in Plugin::all().iter().filter(|plugin| plugin.kind == "learner") {
        let config = serde_json::json!({ "type": plugin.tag });
        let Ok(learner) = serde_json::from_value::<Box<dyn Learner>>(config) else { continue };
        if learner.check().is_err() {
            continue;
        }
        let start = Instant::now();
        let problem = encoded.problem(&inference);
        let fit = quiet(1, |run| learner.fit(&problem, run));
        let case = format!("{} on {name}", plugin.tag);
        assert!(start.elapsed() < PATIENCE, "{case} took {:?}", start.elapsed());
        let fit = match fit {
            Ok(fit) => fit,
            Err(error) => {
                let error = error.to_string();
                let helps = ["scale the features", "lower the `rate`", "leave out", "needs", "weights"];
                assert!(helps.iter().any(|help| error.contains(help)), "{case}: {error}");
                continue;
            }
        };
        n_trained += 1;
        if let Some(model) = fit.model.log_linear() {
            assert!(model.weights().iter().all(|w| w.is_finite()), "{case}");
        }
        for decode in [Decode::Viterbi, Decode::Posterior] {
            let answers = evaluate(&*fit.model, &encoded.corpus, &inference, decode)
                .unwrap_or_else(|error| panic!("{case}: {error}"));
            if let Some(probabilities) = &answers.probabilities {
                let each = &probabilities.log_likelihood;
                assert!(each.iter().all(|log| log.is_finite() && *log <= 1e-6), "{case}: {each:?}");
            }
        }
    }
    assert!(n_trained > 3, "{n_trained} learners on {name}");
    let units = feature_units(&encoded.map, &encoded.corpus);
    let (_, warnings) = warnings(|| warn_of_units(&encoded.map, &units));
    let said = warnings.iter().any(|text| text.contains("normalised"));
    assert_eq!(said, says_scaling_helps, "{name}: {warnings:?}");
}

#[test]
fn every_learner_ends_on_columns_of_ordinary_size() {
    every_learner_ends("ordinary columns", false, |x| [x, 0.5 - x]);
}

#[test]
fn every_learner_ends_on_columns_of_1e6_and_says_that_scaling_would_help() {
    every_learner_ends("1e6", true, |x| [1e6 * x, x]);
}

#[test]
fn every_learner_ends_on_columns_of_1e_6_and_says_that_scaling_would_help() {
    every_learner_ends("1e-6", true, |x| [1e-6 * x, x]);
}

#[test]
fn every_learner_ends_on_constant_columns() {
    every_learner_ends("a constant", false, |x| [x, 3.0]);
}

#[test]
fn every_learner_ends_on_two_nearly_equal_columns() {
    every_learner_ends("nearly equal columns", false, |x| [x, x * (1.0 + 1e-9)]);
}

#[test]
fn every_learner_ends_on_columns_of_1e150() {
    every_learner_ends("1e150", true, |x| [1e150 * x, x]);
}

#[test]
fn every_learner_ends_on_columns_of_1e154() {
    every_learner_ends("1e154", true, |x| [1e154 * x, x]);
}

#[test]
fn every_learner_ends_on_columns_of_1e300() {
    every_learner_ends("1e300", true, |x| [1e300 * x, x]);
}

#[test]
fn every_learner_ends_on_columns_of_both_ends_of_the_numbers() {
    every_learner_ends("±1e308", true, |x| [if x > 0.0 { 1e308 } else { -1e308 }, x]);
}

/// Learners that ask for the order of values alone, or estimate their spread, need no warning.
#[test]
fn learners_with_penalties_or_steps_heed_the_sizes_of_columns() {
    let heeds = |tag: &str| {
        let learner: Box<dyn Learner> = serde_json::from_value(serde_json::json!({ "type": tag })).unwrap();
        learner.heeds_sizes()
    };
    for tag in
        ["mle", "m-estimator", "perceptron", "ssvm-one-slack", "neural-chain", "logistic", "svc", "best-of"]
    {
        assert!(heeds(tag), "{tag}");
    }
    for tag in ["hmm", "logit-boost", "gradient-tree-boosting", "boosted-random-field"] {
        assert!(!heeds(tag), "{tag}");
    }
}
