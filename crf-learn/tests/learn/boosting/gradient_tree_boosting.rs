//! Gradient tree boosting: leaves by hand, falling losses, the same bits at any number of threads,
//! and model files.

use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Decode, Features, Learner, Model, Problem,
    Schema, Seed, Source, Stop, Value, evaluate,
};
use crf_datasets::{CoupledChains, Hyphen};
use crf_learn::{Gradient, GradientTreeBoosting, Leaf};
use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::{INFERENCE, log_loss, quiet, text, trained};

const FEATURES: &str = r#"["transition", {"state": "value"}, {"state": "equals"}]"#;
const ALL: [Gradient; 4] =
    [Gradient::Likelihood, Gradient::PseudoLikelihood, Gradient::Poster, Gradient::Recurrent];

fn small(gradient: Gradient) -> GradientTreeBoosting {
    GradientTreeBoosting { gradient, rounds: 8, depth: 3, ..GradientTreeBoosting::default() }
}

/// Four positions without neighbours: a test is passed by three of them, two of which have the
/// second label.
fn by_hand() -> Dataset {
    let channels = vec![Channel { name: "x".into(), kind: ChannelKind::Real }];
    let schema = Arc::new(Schema::chain(channels, Alphabet::new(["a", "b"])).unwrap());
    let mut builder = DatasetBuilder::new(schema);
    for (x, label) in [(1.0, 1), (1.0, 1), (1.0, 0), (0.0, 0)] {
        builder.push(&[Value::Real(x)], Some(label)).unwrap();
        builder.end_chain().unwrap();
    }
    builder.finish()
}

#[test]
fn leaves_are_as_worked_out_by_hand() {
    let encoded = Encoded::new(r#"[{"state": "value"}]"#, by_hand());
    // Slopes are ±1/2 and curvatures 1/4; of the three with x, one is against.
    let cases = [
        (Leaf::Mean, 0.0, 1.0 / 6.0, -0.5),
        (Leaf::Newton, 0.0, 0.5 / 0.75, -2.0),
        (Leaf::Newton, 1.0, 0.5 / 1.75, -0.4),
    ];
    for (leaf, l2, with, without) in cases {
        for gradient in ALL {
            let learner = GradientTreeBoosting {
                gradient,
                leaf,
                l2,
                rounds: 1,
                shrinkage: 1.0,
                depth: 1,
                ..small(gradient)
            };
            let fit = quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap();
            let mut described = Vec::new();
            fit.model.describe(usize::MAX, &mut |name, value| described.push((name.to_owned(), value)));
            for (name, want) in
                [("y=b ∧ x", with), ("y=a ∧ x", -with), ("y=b ∧ ¬x", without), ("y=a ∧ ¬x", -without)]
            {
                let value = described
                    .iter()
                    .find(|(described, _)| described == name)
                    .unwrap_or_else(|| panic!("{name} in {described:?}"))
                    .1;
                assert!((value - want).abs() < 1e-6, "{leaf:?}, {l2}: {name} is {value}, not {want}");
            }
            assert_eq!(described[0].0, "gain by x");
        }
    }
}

#[test]
fn losses_fall_with_small_steps_and_are_those_of_the_model() {
    let draw = Draw { sequences: 20, length: 15, labels: 4, unlabelled: 0, seed: 1 };
    let encoded = Encoded::new(FEATURES, data(&draw));
    for gradient in [Gradient::Likelihood, Gradient::PseudoLikelihood, Gradient::Recurrent] {
        for leaf in [Leaf::Newton, Leaf::Mean] {
            let learner = GradientTreeBoosting { leaf, shrinkage: 0.1, rounds: 30, ..small(gradient) };
            let fit = quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap();
            let losses: Vec<f64> = fit.trace.iterations.iter().map(|iteration| iteration.objective).collect();
            assert!(losses.windows(2).all(|pair| pair[1] < pair[0]), "{gradient:?}, {leaf:?}: {losses:?}");
            assert_eq!(fit.trace.stop, Stop::Budget);
            if gradient == Gradient::Likelihood {
                let answers = evaluate(&*fit.model, &encoded.corpus, &INFERENCE, Decode::Posterior).unwrap();
                let log_likelihood = answers.probabilities.unwrap().log_likelihood;
                let data = encoded.corpus.data();
                let want: f64 = (0..data.len()).map(|i| -data.weight(i) * log_likelihood[i]).sum();
                let last = losses[losses.len() - 1];
                assert!((last - want).abs() < 1e-9 * want, "{last} vs {want}");
            }
        }
    }
}

#[test]
fn trees_that_may_not_ask_for_the_label_before_tie_nothing() {
    let draw = Draw { sequences: 10, length: 12, labels: 3, unlabelled: 0, seed: 2 };
    let encoded = Encoded::new(r#"[{"state": "value"}, {"state": "equals"}]"#, data(&draw));
    let models =
        ALL.map(|gradient| quiet(1, |run| small(gradient).fit(&encoded.problem(&INFERENCE), run)).unwrap());
    // Without the previous label all losses are the same.
    for fit in &models[1..] {
        let pairs = fit.trace.iterations.iter().zip(&models[0].trace.iterations);
        assert!(pairs.clone().all(|(a, b)| (a.objective - b.objective).abs() < 1e-6 * b.objective));
    }
    let mut words = Vec::new();
    models[0].model.describe(usize::MAX, &mut |name, _| words.push(name.to_owned()));
    assert!(words.iter().all(|name| !name.contains("y'")), "{words:?}");
}

#[test]
fn threads_change_nothing_and_seeds_do() {
    let draw = Draw { sequences: 60, length: 100, labels: 5, unlabelled: 0, seed: 1 };
    let encoded = Encoded::new(FEATURES, data(&draw));
    for gradient in ALL {
        let learner = GradientTreeBoosting { rows: 0.7, columns: 0.5, ..small(gradient) };
        let train = |threads, seed| trained(&learner, &encoded.problem(&INFERENCE), threads, seed);
        assert_eq!(train(1, 1), train(3, 1));
        assert_ne!(train(1, 1), train(1, 2));
    }
}

#[test]
fn a_saved_model_says_the_same() {
    let features: Features = serde_json::from_str(FEATURES).unwrap();
    let data = data(&Draw { sequences: 10, length: 12, labels: 3, unlabelled: 0, seed: 3 });
    let fitted = features.fit(&data).unwrap();
    let corpus = fitted.encode(Arc::new(data)).unwrap();
    let map = Arc::new(fitted.map(&corpus).unwrap());
    let problem = Problem::new(&corpus, &map, &INFERENCE);
    let fit = quiet(1, |run| small(Gradient::Likelihood).fit(&problem, run)).unwrap();
    let mut read: Box<dyn Model> = serde_json::from_str(&text(&fit)).unwrap();
    read.restore(&fitted).unwrap();
    let [before, after] = [&fit.model, &read].map(|model| {
        let answers = evaluate(&**model, &corpus, &INFERENCE, Decode::Viterbi).unwrap();
        (answers.predicted, answers.probabilities.unwrap().marginals)
    });
    assert_eq!(before, after);
    let mut described = Vec::new();
    read.describe(5, &mut |name, value| described.push((name.to_owned(), value)));
    assert_eq!(described.len(), 5);
    assert!(described[0].0.starts_with("gain by") && described[4].0.starts_with("y="), "{described:?}");
    // A tree whose root leads back to itself is refused.
    let broken = text(&fit).replacen("\"left\":1,", "\"left\":0,", 1);
    let mut broken: Box<dyn Model> = serde_json::from_str(&broken).unwrap();
    assert_eq!(broken.restore(&fitted).unwrap_err().to_string(), "a tree of the model leads nowhere");
}

#[test]
fn validation_data_end_the_training() {
    let draw = |sequences, seed| data(&Draw { sequences, length: 10, labels: 4, unlabelled: 0, seed });
    let (train, valid) = Encoded::with_valid(FEATURES, draw(4, 1), draw(30, 2));
    let problem = Problem { valid: Some(&valid), ..train.problem(&INFERENCE) };
    for gradient in ALL {
        let learner = GradientTreeBoosting { rounds: 300, patience: 5, ..small(gradient) };
        let fit = quiet(1, |run| learner.fit(&problem, run)).unwrap();
        assert_eq!(fit.trace.stop, Stop::Holdout);
        let losses: Vec<f64> =
            fit.trace.iterations.iter().map(|iteration| iteration.holdout.unwrap()).collect();
        let best = losses.iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!(best, losses[losses.len() - 6]);
        if gradient == Gradient::Likelihood {
            let loss = log_loss(&*fit.model, &valid);
            assert!((loss - best).abs() < 1e-9 * best, "{loss} vs {best}");
        }
    }
}

#[test]
fn what_cannot_work_is_refused() {
    let message = |learner: GradientTreeBoosting| learner.check().unwrap_err().to_string();
    let good = GradientTreeBoosting::default;
    assert_eq!(message(GradientTreeBoosting { rounds: 0, ..good() }), "`rounds` must be at least 1, got 0");
    let refused = message(GradientTreeBoosting { shrinkage: 1.5, ..good() });
    assert_eq!(refused, "`shrinkage` must be above 0 and at most 1, got 1.5");
    let coupled = Encoded::new(FEATURES, CoupledChains::default().load(&Seed::new(1)).unwrap().train);
    let error = quiet(1, |run| good().fit(&coupled.problem(&INFERENCE), run)).unwrap_err();
    assert!(error.to_string().contains("grows trees for chains"), "{error}");
    let partial = data(&Draw { sequences: 3, length: 10, labels: 3, unlabelled: 5, seed: 1 });
    let partial = Encoded::new(FEATURES, partial);
    let error = quiet(1, |run| good().fit(&partial.problem(&INFERENCE), run)).unwrap_err();
    assert!(error.to_string().contains("a position has no label"), "{error}");
}

/// Linear chains have 12.4 % of positions wrong, smile's trees 8.05 %.
#[test]
#[ignore = "needs CRF_DATA"]
fn hyphens_are_found_better_than_by_smile() {
    let splits = Hyphen::default().load(&Seed::new(1)).unwrap();
    let features: Features = serde_json::from_str(r#"["transition", {"state": "equals"}]"#).unwrap();
    let fitted = features.fit(&splits.train).unwrap();
    let [train, test] = [splits.train, splits.test].map(|data| fitted.encode(Arc::new(data)).unwrap());
    let map = Arc::new(fitted.map(&train).unwrap());
    let learner = GradientTreeBoosting { depth: 20, leaves: 100, ..GradientTreeBoosting::default() };
    let fit = quiet(1, |run| learner.fit(&Problem::new(&train, &map, &INFERENCE), run)).unwrap();
    let last = fit.trace.iterations.last().unwrap();
    for decode in [Decode::Posterior, Decode::Viterbi] {
        let answers = evaluate(&*fit.model, &test, &INFERENCE, decode).unwrap();
        let wrong = answers.pairs().filter(|(truth, predicted)| truth != predicted).count();
        let share = wrong as f64 / test.data().n_positions() as f64;
        println!("{decode:?}: {share:.4}, loss {:.1}, {:.1} s", last.objective, last.seconds);
        assert!(share < 0.0805 || decode == Decode::Viterbi, "{share}");
    }
}
