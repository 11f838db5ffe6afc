//! The small OCR task against CRFsuite, which minimises the same objective over the same features.

use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::metrics::Accuracy;
use crf_core::{
    Decode, Features, FitContext, Learner as _, Metric as _, Problem, Seed, Source as _, evaluate,
};
use crf_datasets::Ocr;
use crf_inference::ForwardBackward;
use crf_learn::{Minimisation, Mle, StopRule};

#[test]
#[ignore = "needs CRF_DATA"]
fn a_chain_reaches_the_objective_and_the_accuracy_of_crfsuite() {
    let splits = Ocr::default().load(&Seed::new(1)).expect("the OCR words below CRF_DATA");
    let features: Features =
        serde_json::from_str(r#"[{"state": "attributes"}, "transition"]"#).expect("JSON");
    let fitted = features.fit(&splits.train).expect("features");
    let train = fitted.encode(Arc::new(splits.train)).expect("training data");
    let test = fitted.encode(Arc::new(splits.test)).expect("test data");
    let map = Arc::new(fitted.map(&train).expect("a map"));
    assert_eq!(map.len(), 26 * 128 + 26 * 26);

    let inference = ForwardBackward::default();
    let problem = Problem::new(&train, &map, &inference);
    let mut go_on = |_: &crf_core::Iteration| ControlFlow::Continue(());
    // To the optimum: where CRFsuite stops by default, a handful of letters are still undecided.
    let stop = StopRule { delta: 1e-7, ..StopRule::default() };
    let learner = Mle(Minimisation { l2: 1.0, stop, ..Minimisation::default() });
    let fit = learner.fit(&problem, &mut FitContext::new(Seed::new(1), &mut go_on)).expect("a fit");
    let last = fit.trace.iterations.last().expect("an iteration");
    println!("{last:?}, {}", fit.trace.stop);
    // CRFsuite 0.12 with c2 = 0.5 and all features: 2291.972 after 129 iterations.
    assert!((last.objective - 2291.97).abs() < 0.02, "{last:?}");
    for decode in [Decode::Viterbi, Decode::Posterior] {
        let answers = evaluate(&*fit.model, &test, &inference, decode).expect("answers");
        let accuracy = Accuracy {}.measure(&answers.into()).expect("a number");
        println!("{decode:?}: {accuracy:.6} of letters are right");
        // CRFsuite prints 0.7834, by Viterbi decoding.
        assert!(accuracy >= 0.78335, "{decode:?}: {accuracy}");
    }
}
