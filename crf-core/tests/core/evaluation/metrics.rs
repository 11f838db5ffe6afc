//! Every metric on predictions worked out by hand, and on data without anything to count.
use std::sync::Arc;

use crf_core::metrics::{
    Accuracy, BrokenBounds, ChunkF1, Confusion, ErrorInPart, ErrorRate, FeatureCount, LogLikelihood,
    LogZError, MacroF1, MarginalError, MeanAccuracy, OfLabel, Quality, SequenceAccuracy, ViterbiAccuracy,
};
use crf_core::{
    Bound, Convergence, Dataset, DatasetBuilder, Evaluation, EvaluationContext, Features, Graph, Label, LogZ,
    Metric, Probabilities,
};
use crf_testing::datasets::{labelled, two_kinds};

const LABELS: &[&str] = &["cat", "dog", "owl"];

fn evaluation(data: Dataset, predicted: Vec<Label>) -> Evaluation {
    assert_eq!(data.n_positions(), predicted.len());
    let log_likelihood = (0..data.len()).map(|i| -(i as f64) - 0.5).collect();
    let probabilities = Probabilities { log_likelihood, ..Probabilities::default() };
    let (data, probabilities) = (Arc::new(data), Some(probabilities));
    Evaluation { data, predicted, probabilities, map: None }
}

/// Predictions as words, one string per sequence.
fn predict(labels: &[&str], truth: &[&str], predicted: &[&str]) -> Evaluation {
    let data = labelled(labels, truth);
    let words = predicted.iter().flat_map(|sequence| sequence.split_whitespace());
    let predicted = words.map(|name| data.schema().label(0, name).unwrap()).collect();
    evaluation(data, predicted)
}

/// Two positions are unlabelled, no owl is true or predicted, and the last sequence is empty.
fn example() -> Evaluation {
    let truth = ["cat cat dog ? cat", "dog ?", "dog dog", ""];
    predict(LABELS, &truth, &["cat dog dog dog cat", "dog cat", "cat dog", ""])
}

fn of_label(label: &str, quality: Quality) -> OfLabel {
    OfLabel { label: label.into(), quality }
}

#[test]
fn unlabelled_positions_do_not_count() {
    assert_eq!(Accuracy {}.measure(&example().into()).unwrap(), 5.0 / 7.0);
    assert_eq!(ErrorRate {}.measure(&example().into()).unwrap(), 2.0 / 7.0);
    assert_eq!(SequenceAccuracy {}.measure(&example().into()).unwrap(), 1.0 / 3.0);
    assert_eq!(LogLikelihood {}.measure(&example().into()).unwrap(), -8.0);
}

#[test]
fn labellings_that_are_most_likely_as_a_whole_are_measured_where_they_are_known() {
    assert!(
        ViterbiAccuracy {}.measure(&example().into()).unwrap_err().to_string().contains("not looked for")
    );
    // As `example` predicts, but for the second position, which is right now, and the two that are
    // unlabelled.
    let context = EvaluationContext::from(example()).with_viterbi(vec![0, 0, 1, 2, 0, 1, 2, 0, 1]);
    assert_eq!(ViterbiAccuracy {}.measure(&context).unwrap(), 6.0 / 7.0);
}

#[test]
fn the_errors_of_equal_parts_are_told_apart() {
    let error = |part, of| ErrorInPart { part, of }.measure(&example().into());
    assert_eq!([error(1, 2).unwrap(), error(2, 2).unwrap()], [1.0 / 5.0, 1.0 / 2.0]);
    assert_eq!((error(4, 4).unwrap(), error(1, 1).unwrap()), (0.0, 2.0 / 7.0));
    assert!(error(1, 3).unwrap_err().to_string().contains("4 sequences do not make 3 equal parts"));
    assert!(error(3, 2).is_err() && error(0, 2).is_err() && error(1, 0).is_err());
}

#[test]
fn features_are_counted_by_their_names() {
    let none = example();
    assert!(FeatureCount::default().measure(&none.clone().into()).is_err());
    let features: Features = serde_json::from_str(r#"["intercept", "transition"]"#).unwrap();
    let fitted = features.fit(&none.data).unwrap();
    let corpus = fitted.encode(none.data.clone()).unwrap();
    let of = Evaluation { map: Some(Arc::new(fitted.map(&corpus).unwrap())), ..none };
    let count = |with: &[&str], without: &[&str]| {
        let [with, without] = [with, without].map(|parts| parts.iter().map(ToString::to_string).collect());
        let metric = FeatureCount { with, without };
        (metric.name(), metric.measure(&of.clone().into()).unwrap())
    };
    assert_eq!(count(&[], &[]), ("features".into(), 12.0));
    assert_eq!(count(&["y'"], &[]), ("features(y')".into(), 9.0));
    assert_eq!(count(&["y=cat"], &["y'"]), ("features(y=cat, not y')".into(), 1.0));
}

#[test]
fn confusion_counts_true_by_predicted() {
    let confusion = Confusion::of(&example());
    let counts: Vec<Vec<u64>> =
        (0..3).map(|truth| (0..3).map(|y| confusion.count(truth, y)).collect()).collect();
    assert_eq!(counts, [[2, 1, 0], [1, 3, 0], [0, 0, 0]]);
    assert_eq!((confusion.truth(0), confusion.predicted(0)), (3, 3));
    assert_eq!((confusion.truth(1), confusion.predicted(1)), (4, 4));
    assert_eq!(confusion.n_labels(), 3);
}

#[test]
fn the_confusion_of_many_labels_takes_the_memory_of_those_that_occur() {
    // A matrix of 200,000² counts would be 320 GB.
    let names: Vec<String> = (0..200_000).map(|y| format!("y{y}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let of = predict(&names, &["y7 y199999"], &["y7 y8"]);
    let confusion = Confusion::of(&of);
    assert_eq!((confusion.count(199_999, 8), confusion.f1(7)), (1, 1.0));
    assert_eq!(MacroF1 {}.measure(&of.into()).unwrap(), 1.0 / 3.0);
}

#[test]
fn a_label_that_never_occurs_is_no_part_of_macro_f1_and_worth_0_by_itself() {
    // 2/3 for cats and 3/4 for dogs.
    let macro_f1 = MacroF1 {}.measure(&example().into()).unwrap();
    assert!((macro_f1 - (2.0 / 3.0 + 0.75) / 2.0).abs() < 1e-15, "{macro_f1}");
    for quality in [Quality::Precision, Quality::Recall, Quality::F1] {
        assert_eq!(of_label("owl", quality).measure(&example().into()).unwrap(), 0.0);
    }
}

#[test]
fn a_label_that_is_only_predicted_or_only_true_lowers_macro_f1() {
    let of = predict(LABELS, &["cat cat"], &["cat owl"]);
    assert_eq!(MacroF1 {}.measure(&of.clone().into()).unwrap(), (2.0 / 3.0 + 0.0) / 2.0);
    assert_eq!(of_label("owl", Quality::Precision).measure(&of.clone().into()).unwrap(), 0.0);
    assert_eq!(of_label("cat", Quality::Precision).measure(&of.clone().into()).unwrap(), 1.0);
    assert_eq!(of_label("cat", Quality::Recall).measure(&of.clone().into()).unwrap(), 0.5);
    assert_eq!(of_label("cat", Quality::F1).measure(&of.clone().into()).unwrap(), 2.0 / 3.0);
}

#[test]
fn metrics_of_nothing_are_0() {
    let nothing = [predict(LABELS, &[], &[]), predict(LABELS, &["? ?"], &["cat owl"])];
    let mut metrics: Vec<Box<dyn Metric>> =
        vec![Box::new(Accuracy {}), Box::new(ErrorRate {}), Box::new(MacroF1 {})];
    metrics.push(Box::new(of_label("cat", Quality::F1)));
    for of in &nothing {
        for metric in &metrics {
            assert_eq!(metric.measure(&of.clone().into()).unwrap(), 0.0, "{}", metric.name());
        }
    }
    assert_eq!(SequenceAccuracy {}.measure(&nothing[0].clone().into()).unwrap(), 0.0);
    assert_eq!(LogLikelihood {}.measure(&nothing[0].clone().into()).unwrap(), 0.0);
}

#[test]
fn an_unknown_label_is_refused_with_the_nearest_one() {
    let refused =
        |label: &str| of_label(label, Quality::F1).measure(&example().into()).unwrap_err().to_string();
    assert_eq!(refused("dgo"), "unknown label `dgo`, did you mean `dog`?");
    assert_eq!(refused("elephant"), "unknown label `elephant`; there is `cat`, `dog`, `owl`");
}

#[test]
fn chunk_f1_counts_whole_chunks() {
    let labels = ["O", "B-NP", "I-NP", "B-VP"];
    let truth = ["B-NP I-NP O B-VP B-NP", "I-NP I-NP"];
    // True: NP 0–1, VP 3, NP 4; NP 0–1. Found: NP 0, NP 1, VP 3, NP 4; NP 0–1. Three are right.
    let of = predict(&labels, &truth, &["B-NP B-NP O B-VP B-NP", "B-NP I-NP"]);
    assert_eq!(ChunkF1 {}.measure(&of.clone().into()).unwrap(), 2.0 * 3.0 / (4.0 + 5.0));
    let same = predict(&labels, &truth, &truth);
    assert_eq!(ChunkF1 {}.measure(&same.clone().into()).unwrap(), 1.0);
    let none = predict(&labels, &["O O"], &["O O"]);
    assert_eq!(ChunkF1 {}.measure(&none.clone().into()).unwrap(), 0.0);
}

#[test]
fn chunks_at_unlabelled_positions_are_not_held_against_a_prediction() {
    let of = predict(&["O", "B-NP", "I-NP"], &["B-NP ? O ?"], &["B-NP I-NP O B-NP"]);
    assert_eq!(ChunkF1 {}.measure(&of.clone().into()).unwrap(), 1.0);
}

#[test]
fn chunk_f1_of_labels_that_make_no_chunks_is_refused() {
    let refused = |labels: &[&str]| {
        let of = predict(labels, &[labels[0]], &[labels[0]]);
        ChunkF1 {}.measure(&of.into()).map_err(|error| error.to_string())
    };
    let error = refused(&["a", "b"]).unwrap_err();
    assert!(error.starts_with("`chunk-f1` needs labels of chunks such as `B-x`"), "{error}");
    assert!(error.contains("got labels such as `a`"), "{error}");
    assert!(refused(&["U-turn", "O"]).is_err());
    assert!(refused(&["N", "E", "S", "W"]).is_err(), "points of the compass");
    assert!(refused(&["O", "B", "I"]).is_ok());
    assert!(refused(&["a", "I-X"]).is_ok());
}

#[test]
fn sequences_without_a_known_label_change_no_metric() {
    let labels = ["O", "B-X", "I-X"];
    let some = predict(&labels, &["B-X I-X O", "B-X ?"], &["B-X O O", "B-X O"]);
    let more = predict(
        &labels,
        &["? ? ?", "B-X I-X O", "", "B-X ?", "?"],
        &["I-X B-X O", "B-X O O", "", "B-X O", "B-X"],
    );
    let metrics: [Box<dyn Metric>; 7] = [
        Box::new(Accuracy {}),
        Box::new(ErrorRate {}),
        Box::new(MeanAccuracy {}),
        Box::new(SequenceAccuracy {}),
        Box::new(MacroF1 {}),
        Box::new(ChunkF1 {}),
        Box::new(of_label("B-X", Quality::F1)),
    ];
    for metric in metrics {
        let value = |of: &Evaluation| metric.measure(&of.clone().into()).unwrap();
        assert_eq!(value(&some), value(&more), "{}", metric.name());
    }
}

#[test]
fn kinds_of_node_are_counted_apart() {
    let schema = Arc::new(two_kinds(vec![]));
    let mut data = DatasetBuilder::new(schema.clone());
    for label in [0, 2, 1, 1] {
        data.push(&[], Some(label)).unwrap();
    }
    data.end_graph(Graph::new(&schema, vec![0, 1, 0, 1], vec![]).unwrap()).unwrap();
    let of = evaluation(data.finish(), vec![1, 2, 1, 0]);
    let confusion = Confusion::of(&of);
    assert_eq!(confusion.n_labels(), 5);
    // Labels of `a` are 0 and 1, those of `b` are 2 to 4.
    assert_eq!((confusion.count(0, 1), confusion.count(1, 1)), (1, 1));
    assert_eq!((confusion.count(4, 4), confusion.count(3, 2)), (1, 1));
    assert_eq!(of_label("b2", Quality::F1).measure(&of.clone().into()).unwrap(), 1.0);
    assert_eq!(of_label("a1", Quality::Precision).measure(&of.clone().into()).unwrap(), 0.5);
    assert_eq!(Accuracy {}.measure(&of.clone().into()).unwrap(), 0.5);
}

#[test]
fn names_and_directions_are_those_of_result_columns() {
    let metric: Box<dyn Metric> =
        serde_json::from_str(r#"{"type": "of-label", "label": "dog", "quality": "recall"}"#).unwrap();
    assert_eq!((metric.name().as_str(), metric.higher_is_better()), ("recall(dog)", true));
    assert_eq!((ErrorRate {}.name().as_str(), ErrorRate {}.higher_is_better()), ("error", false));
    assert_eq!(SequenceAccuracy {}.name(), "sequence_accuracy");
}

/// Two sequences of three positions in all, with log Z of the given quality and the given marginals
/// of the first label.
fn answers(log_z: [(f64, Bound); 2], first: [f64; 3]) -> Evaluation {
    let log_z = log_z.map(|(value, bound)| LogZ { value, bound, convergence: Convergence::DIRECT }).to_vec();
    let marginals = first.iter().flat_map(|&p| [p, 1.0 - p, 0.0]).collect();
    let probabilities = Some(Probabilities { log_z, marginals, log_likelihood: vec![0.0; 2] });
    Evaluation { probabilities, ..predict(LABELS, &["cat dog", "dog"], &["cat cat", "dog"]) }
}

#[test]
fn answers_are_compared_with_those_of_a_reference() {
    let mut of = answers([(2.0, Bound::Lower), (5.0, Bound::Upper)], [0.5, 0.25, 1.0]);
    assert_eq!(of.confidence().unwrap(), [0.5, 0.25, 0.0]);
    let exact = answers([(2.6, Bound::Exact), (4.7, Bound::Exact)], [0.75, 0.25, 0.5]);
    let measure = |metric: &dyn Metric, of: &Evaluation| {
        metric.measure(&EvaluationContext::from(of.clone()).with_reference(exact.clone())).unwrap()
    };
    assert!((measure(&MarginalError {}, &of) - 0.75 / 3.0).abs() < 1e-15);
    assert!((measure(&LogZError {}, &of) - (-0.6 + 0.3) / 3.0).abs() < 1e-15);
    assert_eq!(measure(&BrokenBounds {}, &of), 0.0);
    for (bound, broken) in [(Bound::Upper, 0.5), (Bound::Exact, 0.5), (Bound::Estimate, 0.0)] {
        of.probabilities.as_mut().unwrap().log_z[0].bound = bound;
        assert_eq!(measure(&BrokenBounds {}, &of), broken, "{bound:?}");
    }
}

#[test]
fn a_metric_says_what_it_misses() {
    let mut of = example();
    let refused =
        |metric: &dyn Metric, of: &Evaluation| metric.measure(&of.clone().into()).unwrap_err().to_string();
    let alone = "there is no reference inference to compare the answers with";
    assert_eq!(refused(&MarginalError {}, &of), alone);
    of.probabilities = None;
    let labels_only = "the inference finds labellings only, so neither log Z nor marginals are known";
    assert_eq!(refused(&LogLikelihood {}, &of), labels_only);
    assert_eq!(Accuracy {}.measure(&of.clone().into()).unwrap(), 5.0 / 7.0);
}
