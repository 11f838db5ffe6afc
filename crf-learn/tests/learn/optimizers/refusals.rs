//! What a minimisation says when it cannot begin.

use std::sync::Arc;

use crf_core::{Alphabet, Channel, ChannelKind, DatasetBuilder, Learner, Schema, Seed, Value};
use crf_learn::{Lbfgs, Minimisation, Mle, Optimizer, OwlQn, StopRule};
use crf_testing::problems::Encoded;
use crf_testing::runs::{INFERENCE, quiet};
use rand::RngExt as _;

/// One chain of a reading and its square, which tell three labels with some noise; readings go up
/// to `size`.
fn readings(size: f64) -> Encoded {
    let channels = ["x", "square"].map(|name| Channel { name: name.into(), kind: ChannelKind::Real });
    let schema = Arc::new(Schema::chain(channels.to_vec(), Alphabet::new(["a", "b", "c"])).unwrap());
    let mut rng = Seed::new(3).rng();
    let mut data = DatasetBuilder::new(schema);
    for _ in 0..600 {
        let y = rng.random_range(0..3_u32);
        let x = size * (0.8 + 0.05 * (f64::from(y) + 3.0 * rng.random::<f64>()));
        data.push(&[Value::Real(x), Value::Real(x * x)], Some(y)).unwrap();
    }
    data.end_chain().unwrap();
    Encoded::new(r#"["intercept", "transition", {"state": "value"}]"#, data.finish())
}

fn mle(optimizer: Box<dyn Optimizer>, stop: StopRule) -> Mle {
    Mle(Minimisation { l2: 1.0, optimizer: Some(optimizer), stop, ..Minimisation::default() })
}

#[test]
fn a_gradient_that_is_not_finite_is_named() {
    let encoded = readings(1e150);
    let learner = mle(Box::<Lbfgs>::default(), StopRule::default());
    let error = quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap_err().to_string();
    assert_eq!(
        error,
        "not a finite number: the norm of the gradient at the starting weights is inf; scale the features"
    );
}

#[test]
fn settings_without_bound_take_no_memory_that_is_not_there() {
    let encoded = readings(1.0);
    // A period that no run reaches costs nothing.
    let stop = StopRule { period: 4_000_000_000, iterations: 3, ..StopRule::default() };
    quiet(1, |run| mle(Box::<Lbfgs>::default(), stop).fit(&encoded.problem(&INFERENCE), run)).unwrap();
    let optimizers: [Box<dyn Optimizer>; 2] = [
        Box::new(Lbfgs { memory: Some(u32::MAX), ..Lbfgs::default() }),
        Box::new(OwlQn { memory: u32::MAX, ..OwlQn::default() }),
    ];
    for optimizer in optimizers {
        let learner = mle(optimizer, StopRule::default());
        let error = quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap_err().to_string();
        assert!(error.contains("a `memory` of 4294967295 steps"), "{error}");
    }
}
