//! Features that are identical on the data are trained as one, by the same steps as all of them.

use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{Features, Fit, FitContext, Learner, Problem, Seed, Source};
use crf_datasets::RedundantObservations;
use crf_inference::ForwardBackward;
use crf_learn::{Minimisation, Mle, PseudoLikelihood, StopRule};

/// Trains on data in which each column comes twice or more; nothing is merged with early stopping.
fn fit(learner: &dyn Learner, watched: bool) -> Fit {
    let data = RedundantObservations::default().load(&Seed::new(3)).unwrap();
    let list = r#"["intercept", "transition", { "state": "value" }, { "state": "value" }, "start",
        { "state": { "type": "lag", "by": [1, 0] } }]"#;
    let features: Features = serde_json::from_str(list).unwrap();
    let fitted = features.fit(&data.train).unwrap();
    let train = fitted.encode(Arc::new(data.train)).unwrap();
    let map = Arc::new(fitted.map(&train).unwrap());
    let inference = ForwardBackward::default();
    let mut problem = Problem::new(&train, &map, &inference);
    problem.valid = watched.then_some(&train);
    learner.fit(&problem, &mut FitContext::new(Seed::new(4), &mut |_| ControlFlow::Continue(()))).unwrap()
}

fn minimisation() -> Minimisation {
    let stop = StopRule { iterations: 12, ..StopRule::default() };
    Minimisation { l2: 0.5, patience: 1000, stop, ..Minimisation::default() }
}

#[test]
fn merged_training_takes_the_same_steps() {
    for learner in
        [Box::new(Mle(minimisation())) as Box<dyn Learner>, Box::new(PseudoLikelihood(minimisation()))]
    {
        let (merged, all) = (fit(&*learner, false), fit(&*learner, true));
        assert_eq!(merged.trace.iterations.len(), all.trace.iterations.len());
        for (one, other) in merged.trace.iterations.iter().zip(&all.trace.iterations) {
            assert_eq!(one.evaluations, other.evaluations);
            assert!((one.objective - other.objective).abs() < 1e-5 * other.objective, "{one:?} {other:?}");
        }
        let (merged, all) = (merged.model.log_linear().unwrap(), all.model.log_linear().unwrap());
        assert_eq!(merged.map(), all.map());
        for (k, (one, other)) in merged.weights().iter().zip(all.weights()).enumerate() {
            assert!((one - other).abs() < 1e-3, "{}: {one} {other}", all.map().name(k));
        }
    }
}
