//! Mini-batch optimizers against optimizers that use all data.

use std::sync::Arc;

use crf_core::{Alphabet, DatasetBuilder, Learner, Problem, Result, Schema, Stop};
use crf_learn::{
    Adam, CostFunction as _, Form, LikelihoodObjective, MEstimatorObjective, Minimisation, Mle, Objective,
    Optimizer, Penalised, Penalty, Point, PseudoLikelihood, PseudoLikelihoodObjective, ReferenceDistribution,
    Sgd, Sharded, StepSchedule, StopRule,
};
use crf_testing::cases;
use crf_testing::problems::{Draw, Encoded, data, random_weights};
use crf_testing::runs::{INFERENCE, quiet};
use proptest::prelude::*;

const FEATURES: &str = r#"["intercept", "transition", {"state": "value"}, {"transition": "value"}]"#;

fn encoded(sequences: usize, unlabelled: u32, seed: u64) -> Encoded {
    Encoded::new(FEATURES, data(&Draw { sequences, length: 12, labels: 3, unlabelled, seed }))
}

/// Asserts that the gradients over the batches of any partition sum to the gradient over all items.
fn parts_sum_up<'a, O: Objective>(
    of: impl Fn(&Problem<'a>) -> Result<O>,
    encoded: &'a Encoded,
    batch: usize,
) -> std::result::Result<(), TestCaseError> {
    let mut f = Sharded::new(of(&encoded.problem(&INFERENCE)).unwrap());
    let w = random_weights(&encoded.map, 0.5, 1);
    let [mut all, mut sum, mut part] = [(); 3].map(|()| vec![0.0; w.len()]);
    let want = f.evaluate(&w, &mut all).unwrap();
    let items: Vec<usize> = (0..encoded.corpus.len()).rev().collect();
    let mut got = 0.0;
    for items in items.chunks(batch) {
        got += f.evaluate_some(items, &w, &mut part).unwrap();
        sum.iter_mut().zip(&part).for_each(|(sum, part)| *sum += part);
    }
    prop_assert!((got - want).abs() <= 1e-9 * (1.0 + want.abs()), "{got} vs {want}");
    prop_assert!(sum.iter().zip(&all).all(|(a, b)| (a - b).abs() < 1e-8), "{sum:?} vs {all:?}");
    Ok(())
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn batches_sum_up_to_the_whole(sequences in 1..9_usize, batch in 1..5_usize, seed in any::<u64>()) {
        parts_sum_up(LikelihoodObjective::new, &encoded(sequences, 2, seed), batch)?;
        let labelled = encoded(sequences, 0, seed);
        parts_sum_up(PseudoLikelihoodObjective::new, &labelled, batch)?;
        let local = ReferenceDistribution::Local(random_weights(&labelled.map, 0.5, 2));
        for rho in [ReferenceDistribution::Same(vec![vec![0.2, 0.5, 0.3]]), local] {
            for form in [Form::Centred, Form::Joint] {
                parts_sum_up(|problem| MEstimatorObjective::new(form, &rho, problem), &labelled, batch)?;
            }
        }
    }
}

fn minimisation(l1: f64, l2: f64, epochs: u32, optimizer: Option<Box<dyn Optimizer>>) -> Minimisation {
    let stop = StopRule { iterations: epochs, delta: 0.0, ..StopRule::default() };
    Minimisation { l1, l2, optimizer, stop, ..Minimisation::default() }
}

/// Last objective, and the weights.
fn train(learner: &dyn Learner, encoded: &Encoded) -> (f64, Vec<f64>) {
    let fit = quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap();
    (fit.trace.iterations.last().unwrap().objective, fit.model.log_linear().unwrap().weights().to_vec())
}

#[test]
fn both_come_near_the_minimum() {
    let encoded = encoded(60, 0, 3);
    let (least, _) = train(&Mle(minimisation(0.0, 1.0, 500, None)), &encoded);
    let sgd = Sgd { rate: 1.4, batch: Some(4), ..Sgd::default() };
    let adam = Adam { rate: 0.01, batch: 4, ..Adam::default() };
    // One or two sequences per step are noisier than four.
    let optimizers: [(Box<dyn Optimizer>, f64); 3] =
        [(Box::new(sgd), 1.01), (Box::<Sgd>::default(), 1.05), (Box::new(adam), 1.01)];
    for (optimizer, most) in optimizers {
        let name = format!("{optimizer:?}");
        let (found, _) = train(&Mle(minimisation(0.0, 1.0, 60, Some(optimizer))), &encoded);
        assert!(found >= least - 1e-3 && found < most * least, "{name}: {found} vs {least}");
    }
}

#[test]
fn the_cumulative_penalty_leads_to_the_sparse_minimum() {
    let encoded = encoded(60, 0, 4);
    let (least, exact) = train(&Mle(minimisation(8.0, 0.0, 500, None)), &encoded);
    let sgd = Sgd { rate: 0.7, batch: Some(4), schedule: StepSchedule::Inverse, ..Sgd::default() };
    let (found, w) = train(&Mle(minimisation(8.0, 0.0, 80, Some(Box::new(sgd)))), &encoded);
    assert!(found >= least - 1e-3 && found < 1.01 * least, "{found} vs {least}");
    let zeros = |w: &[f64]| w.iter().filter(|w| **w == 0.0).count();
    assert!(zeros(&exact) > 2 && 2 * zeros(&w) >= zeros(&exact), "{w:?} vs {exact:?}");
}

#[test]
fn threads_change_nothing_and_seeds_do() {
    let encoded =
        Encoded::new(FEATURES, data(&Draw { sequences: 150, length: 80, labels: 8, unlabelled: 0, seed: 1 }));
    let learner =
        || PseudoLikelihood(minimisation(0.0, 1.0, 2, Some(Box::new(Adam { batch: 50, ..Adam::default() }))));
    let weights = |threads, seed| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fit =
            pool.install(|| quiet(seed, |run| learner().fit(&encoded.problem(&INFERENCE), run))).unwrap();
        fit.model.log_linear().unwrap().weights().to_vec()
    };
    assert_eq!(weights(1, 1), weights(3, 1));
    assert_ne!(weights(1, 1), weights(1, 2));
}

/// One sequence of `positions` readings.
fn long(positions: usize) -> Encoded {
    Encoded::new(FEATURES, data(&Draw { sequences: 1, length: positions, labels: 3, unlabelled: 0, seed: 6 }))
}

#[test]
fn one_long_sequence_never_ends_above_its_start() {
    let encoded = long(4000);
    let start = 4000.0 * 3.0_f64.ln();
    let (least, _) = train(&Mle(minimisation(0.0, 1.0, 500, None)), &encoded);
    let optimizers: [(Box<dyn Optimizer>, f64); 2] =
        [(Box::<Sgd>::default(), 0.5), (Box::<Adam>::default(), 0.99)];
    for (optimizer, part) in optimizers {
        let name = format!("{optimizer:?}");
        let learner = Mle(Minimisation { l2: 1.0, optimizer: Some(optimizer), ..Minimisation::default() });
        let fit = quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap();
        assert!(matches!(fit.trace.stop, Stop::Wavering | Stop::Budget), "{name}: {}", fit.trace.stop);
        let found = fit.trace.iterations.last().unwrap().objective;
        assert!(start - found > part * (start - least), "{name}: {found} from {start}, the least is {least}");
    }
}

#[test]
fn the_best_weights_are_kept_not_the_last() {
    let encoded = encoded(12, 0, 3);
    // Rates at which the objective jumps up and down.
    let optimizers: [Box<dyn Optimizer>; 2] = [
        Box::new(Sgd { rate: 30.0, schedule: StepSchedule::Constant, ..Sgd::default() }),
        Box::new(Adam { rate: 3.0, ..Adam::default() }),
    ];
    for optimizer in optimizers {
        let name = format!("{optimizer:?}");
        let learner = Mle(minimisation(0.0, 1.0, 9, Some(optimizer)));
        let problem = encoded.problem(&INFERENCE);
        let fit = quiet(1, |run| learner.fit(&problem, run)).unwrap();
        let penalty = Penalty { l1: 0.0, l2: 1.0, exempt_intercepts: false };
        let mut f = Penalised::new(LikelihoodObjective::new(&problem).unwrap(), &penalty, &encoded.map);
        let value = |f: &mut Penalised<_>, w: Vec<f64>| {
            let mut point = Point::new(w);
            f.evaluate(&mut point).unwrap();
            point.value
        };
        let start = value(&mut f, vec![0.0; encoded.map.len()]);
        let best = fit.trace.iterations.iter().map(|record| record.objective).fold(start, f64::min);
        let last = fit.trace.iterations.last().unwrap().objective;
        let got = value(&mut f, fit.model.log_linear().unwrap().weights().to_vec());
        assert_eq!(got, best, "{name}");
        assert!(last > best, "{name}: nothing jumps");
    }
}

#[test]
fn rates_mean_the_same_whatever_sequences_positions_are_in() {
    // The same positions, which nothing ties: in one sequence, and each by itself.
    let schema = Arc::new(Schema::chain(vec![], Alphabet::new(["n", "y"])).unwrap());
    let weights = |length: u32| {
        let mut builder = DatasetBuilder::new(schema.clone());
        for t in 0..24 {
            builder.push(&[], Some(u32::from(t % 3 == 0))).unwrap();
            if (t + 1) % length == 0 {
                builder.end_chain().unwrap();
            }
        }
        let encoded = Encoded::new(r#"["intercept"]"#, builder.finish());
        let all = Some(u32::MAX);
        let sgd = Sgd { batch: all, ..Sgd::default() };
        train(&Mle(minimisation(0.0, 1.0, 5, Some(Box::new(sgd)))), &encoded).1
    };
    let one = weights(24);
    for length in [1, 3, 8] {
        let other = weights(length);
        assert!(one.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-12), "{one:?} {other:?}");
    }
}

#[test]
fn small_weights_of_sequences_are_no_separation() {
    let draw = Draw { sequences: 9, length: 12, labels: 3, unlabelled: 0, seed: 8 };
    let data = data(&draw).reweighted(|_| 1e-6).unwrap();
    for learner in [Box::<Mle>::default() as Box<dyn Learner>, Box::<PseudoLikelihood>::default()] {
        let encoded = Encoded::new(FEATURES, data.clone());
        let fit = quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap();
        assert_ne!(fit.trace.stop, Stop::Diverging, "{learner:?}");
    }
}

#[test]
fn a_rate_that_is_too_high_is_said_to_be() {
    let sgd = Sgd { rate: 1e200, ..Sgd::default() };
    let learner = Mle(minimisation(0.0, 1.0, 3, Some(Box::new(sgd))));
    let encoded = encoded(3, 0, 1);
    let error = quiet(1, |run| learner.fit(&encoded.problem(&INFERENCE), run)).unwrap_err().to_string();
    assert!(error.contains("not a finite number"), "{error}");
}
