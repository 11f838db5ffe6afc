//! A sequence of weight 2 is equivalent to the sequence twice.

use crf_core::{Dataset, DatasetBuilder, Fit, Learner, Value};
use crf_learn::{
    Emission, Form, Hmm, Logistic, MEstimator, Minimisation, Mle, PseudoLikelihood, Reference, Ssvm,
    SsvmFrankWolfe, SsvmNSlack, SsvmOneSlack, StopRule,
};
use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::{INFERENCE, quiet};

const FEATURES: &str = r#"["intercept", "transition", {"state": "value"}]"#;

/// The same sequences; every third has the weight 2, or is repeated.
fn doubled(twice: bool) -> Dataset {
    let data = data(&Draw { sequences: 12, length: 14, labels: 3, unlabelled: 0, seed: 6 });
    let mut builder = DatasetBuilder::new(data.schema().clone());
    for i in 0..data.len() {
        let x = data.sequence(i);
        let counts = 1 + usize::from(i % 3 == 0);
        for _ in 0..if twice { counts } else { 1 } {
            for t in 0..x.len() {
                let values =
                    [Value::Real(x.real(0)[t]), Value::Real(x.real(1)[t]), Value::Symbol(x.symbol(2)[t])];
                builder.push(&values, x.labels()[t]).unwrap();
            }
            builder.end_chain().unwrap();
        }
        if !twice {
            builder.weigh_last(counts as f64).unwrap();
        }
    }
    builder.finish()
}

/// Fits of a learner on both.
fn both(learner: &dyn Learner) -> [Fit; 2] {
    [false, true].map(|twice| {
        let encoded = Encoded::new(FEATURES, doubled(twice));
        quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap()
    })
}

#[test]
fn weights_are_repetitions_to_learners_with_one_optimum() {
    let stop = StopRule { iterations: 2000, tolerance: 1e-8, delta: 0.0, period: 10 };
    let minimisation = || Minimisation { l2: 0.5, stop, ..Minimisation::default() };
    let mut learners: Vec<Box<dyn Learner>> = vec![
        Box::new(Mle(minimisation())),
        Box::new(Mle(Minimisation { two_stage: true, ..minimisation() })),
        Box::new(PseudoLikelihood(minimisation())),
        Box::new(Logistic { l2: 0.5, tolerance: 1e-6, ..Logistic::default() }),
        Box::new(Hmm { emission: Emission::Gaussian, ..Hmm::default() }),
    ];
    for reference in [Reference::Uniform, Reference::Frequencies, Reference::Local] {
        for form in [Form::Centred, Form::Joint] {
            learners.push(Box::new(MEstimator { form, reference, minimisation: minimisation() }));
        }
    }
    for learner in learners {
        let [once, twice] = both(&*learner).map(|fit| {
            let mut parameters = Vec::new();
            fit.model.describe(usize::MAX, &mut |name, value| parameters.push((name.to_owned(), value)));
            parameters.sort_by(|a, b| a.0.cmp(&b.0));
            parameters
        });
        assert!(!once.is_empty() && once.len() == twice.len());
        for (a, b) in once.iter().zip(&twice) {
            assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-4, "{learner:?}: {a:?} vs {b:?}");
        }
    }
}

#[test]
fn weights_are_repetitions_to_structural_svms() {
    let ssvm = || Ssvm { c: 0.1, tolerance: 1e-4, iterations: 5000, ..Ssvm::default() };
    let learners: [Box<dyn Learner>; 3] = [
        Box::new(SsvmFrankWolfe { ssvm: ssvm(), ..Default::default() }),
        Box::new(SsvmNSlack(ssvm())),
        Box::new(SsvmOneSlack(ssvm())),
    ];
    for learner in learners {
        let [once, twice] = both(&*learner).map(|fit| fit.trace.iterations.last().unwrap().objective);
        assert!((once - twice).abs() <= 2e-4 * once, "{learner:?}: {once} vs {twice}");
    }
}
