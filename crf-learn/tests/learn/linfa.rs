//! Learners behind the traits of linfa.
#![cfg(feature = "linfa")]

use crf_core::{Decode, Learner as _, evaluate};
use crf_learn::linfa::{Chain, ChainError, FittedChain, Sequences};
use crf_learn::{Minimisation, Mle, NeuralChain, Perceptron};
use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::{INFERENCE, quiet};
use linfa::DatasetBase;
use linfa::prelude::ToConfusionMatrix as _;
use linfa::traits::{Fit, Predict as _};
use ndarray::{Array1, Array2, array};

/// The two real channels of drawn data, and the labels.
fn records() -> (crf_core::Dataset, DatasetBase<Sequences, Array1<usize>>) {
    // A single sequence, so that all weigh the same.
    let data = data(&Draw { sequences: 1, length: 90, labels: 3, unlabelled: 0, seed: 3 });
    let x = data.sequence(0);
    let rows = Array2::from_shape_fn((x.len(), 2), |(t, k)| x.real(k)[t]);
    let labels = x.labels().iter().map(|label| label.unwrap() as usize).collect();
    let lengths = vec![x.len()];
    (data, DatasetBase::new(Sequences::new(rows, lengths).unwrap(), labels))
}

#[test]
fn answers_are_those_of_the_learner() {
    let (data, records) = records();
    let learner = || Mle(Minimisation { l2: 0.5, ..Minimisation::default() });
    let encoded = Encoded::new(r#"["intercept", "transition", {"state": "value"}]"#, data);
    let fit = quiet(0, |run| learner().fit(&encoded.problem(&INFERENCE), run)).unwrap();
    let want = evaluate(&*fit.model, &encoded.corpus, &INFERENCE, Decode::Posterior).unwrap().predicted;
    let model = Chain::new(learner(), INFERENCE).fit(&records).unwrap();
    let got: Array1<usize> = model.predict(&records);
    assert!(got.iter().zip(&want).all(|(got, want)| *got == *want as usize));
    assert_eq!(got, model.predict(records.records()));
    let accuracy = got.confusion_matrix(&records).unwrap().accuracy();
    assert!(accuracy > 0.6, "{accuracy}");
}

#[test]
fn every_learner_of_chains_can_stand_there() {
    let (_, records) = records();
    let fit = |chain: Chain| -> FittedChain<usize> { chain.fit(&records).unwrap() };
    let net = NeuralChain { hidden: vec![4], epochs: 2, ..NeuralChain::default() };
    for model in [fit(Chain::new(Perceptron::default(), INFERENCE)), fit(Chain::new(net, INFERENCE))] {
        assert_eq!(model.try_predict(records.records()).unwrap().len(), 90);
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let error = Sequences::new(array![[1.0], [2.0]], vec![1]).unwrap_err().to_string();
    assert_eq!(error, "2 rows for sequences of 1 positions in all");
    let of = |rows, labels| -> Result<FittedChain<u8>, ChainError> {
        let records = DatasetBase::new(Sequences::new(rows, vec![2]).unwrap(), labels);
        Chain::new(Mle(Minimisation { l2: 1.0, ..Minimisation::default() }), INFERENCE).fit(&records)
    };
    let error = of(array![[1.0], [2.0]], array![1_u8]).unwrap_err().to_string();
    assert_eq!(error, "The number of samples do not match: 2 - 1");
    let error = of(array![[1.0], [f64::NAN]], array![1, 2]).unwrap_err().to_string();
    assert!(error.contains("NaN"), "{error}");
    let model = of(array![[1.0], [2.0]], array![1, 2]).unwrap();
    let wide = Sequences::new(array![[1.0, 2.0]], vec![1]).unwrap();
    let error = model.try_predict(&wide).unwrap_err().to_string();
    assert_eq!(error, "expected rows of 1 numbers, got 2");
}
