//! Gradient evaluations and epochs allocate nothing once everything has been used, on one thread or
//! on several.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::alloc::System;
use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, DatasetBuilder, Decode, FitContext, Iteration, Learner, Problem, Result,
    Schema, Seed, Value, evaluate,
};
use crf_learn::{
    Arow, BoostedRandomField, CostFunction as _, Form, GradientTreeBoosting, Lbfgs, LikelihoodObjective,
    LogitBoost, MEstimatorObjective, Objective, Optimizer as _, PassiveAggressive, Penalised, Penalty,
    Perceptron, Point, PseudoLikelihoodObjective, ReferenceDistribution, Ssvm, SsvmSubgradient,
};
use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::INFERENCE;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

// One test in this file: the allocator counts for the whole process.
#[test]
fn iterations_allocate_nothing_after_warm_up() {
    evaluations_and_steps();
    epochs();
    boosters_take_memory_for_what_is_listed();
}

/// Memory of boosters on text, whose attributes grow with its positions: it shall double with both,
/// where a number for each attribute at each position would be four times as many.
fn boosters_take_memory_for_what_is_listed() {
    let text = |n_positions: u32| {
        let words = (0..n_positions / 2).map(|word| format!("w{word}"));
        let channel = Channel { name: "words".into(), kind: ChannelKind::Bag(Alphabet::new(words)) };
        let schema = Schema::chain(vec![channel], Alphabet::new(["a", "b", "c"])).unwrap();
        let mut builder = DatasetBuilder::new(Arc::new(schema));
        for t in 0..n_positions {
            builder.push(&[Value::Bag(&[(t / 2, 1.0), (t % 7, 2.0)])], Some(t % 5 % 3)).unwrap();
            if t % 20 == 19 {
                builder.end_chain().unwrap();
            }
        }
        Encoded::new(r#"[{"state": "attributes"}]"#, builder.finish())
    };
    let learners: [Box<dyn Learner>; 3] = [
        Box::new(LogitBoost { rounds: 1, ..LogitBoost::default() }),
        Box::new(BoostedRandomField { rounds: 1, ..BoostedRandomField::default() }),
        Box::new(GradientTreeBoosting { rounds: 1, ..GradientTreeBoosting::default() }),
    ];
    for learner in learners {
        let bytes = |encoded: &Encoded| {
            let region = Region::new(ALLOCATOR);
            let mut go_on = |_: &Iteration| ControlFlow::Continue(());
            let mut run = FitContext::new(Seed::new(1), &mut go_on);
            let fit = learner.fit(&encoded.problem(&INFERENCE), &mut run).unwrap();
            evaluate(&*fit.model, &encoded.corpus, &INFERENCE, Decode::Viterbi).unwrap();
            region.change().bytes_allocated as f64
        };
        let [once, twice] = [400, 800].map(|n_positions| bytes(&text(n_positions)));
        assert!(twice < 2.5 * once, "{learner:?}: {once} bytes, then {twice}");
    }
}

/// Epochs of the learners that go from sequence to sequence.
fn epochs() {
    let features = r#"["intercept", "transition", "start", {"state": "value"}, {"state": "equals"}]"#;
    let encoded =
        Encoded::new(features, data(&Draw { sequences: 300, length: 20, labels: 6, unlabelled: 0, seed: 4 }));
    let ssvm = Ssvm { c: 0.01, iterations: 15, tolerance: 0.0, ..Ssvm::default() };
    let learners: [Box<dyn Learner>; 4] = [
        Box::new(Arow { epochs: 15, ..Arow::default() }),
        Box::new(Perceptron { epochs: 15, ..Perceptron::default() }),
        Box::new(PassiveAggressive { epochs: 15, ..PassiveAggressive::default() }),
        Box::new(SsvmSubgradient(ssvm)),
    ];
    for learner in learners {
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (first, last) = pool.install(|| {
                let (region, mut first, mut last) = (Region::new(ALLOCATOR), 0, 0);
                // The list of iterations grows when the ninth comes, and then for the seventeenth.
                let mut see = |iteration: &Iteration| {
                    let so_far = region.change().allocations + region.change().reallocations;
                    first = if iteration.iteration == 10 { so_far } else { first };
                    last = so_far;
                    ControlFlow::Continue(())
                };
                learner
                    .fit(&encoded.problem(&INFERENCE), &mut FitContext::new(Seed::new(1), &mut see))
                    .expect("a fit");
                (first, last)
            });
            assert!(first > 0 && first == last, "{learner:?} on {threads} threads: {first}, then {last}");
        }
    }
}

fn evaluations_and_steps() {
    let all = r#"["intercept", "transition", "start", {"state": "value"}, {"state": "equals"}]"#;
    let per_row = r#"["transition", {"state": "value"}, {"transition": {"type": "lag", "of": "equals"}}]"#;
    let per_edge = r#"["transition", {"state": "value"}, {"transition": "value"}]"#;
    for (features, unlabelled) in [(all, 0), (per_row, 0), (per_edge, 0), (per_edge, 2)] {
        let draw = Draw { sequences: 300, length: 80, labels: 6, unlabelled, seed: 4 };
        let encoded = Encoded::new(features, data(&draw));
        steps(LikelihoodObjective::new, &encoded);
        if unlabelled == 0 {
            steps(PseudoLikelihoodObjective::new, &encoded);
            let local = ReferenceDistribution::Local(vec![0.0; encoded.map.len()]);
            for rho in [ReferenceDistribution::Same(vec![vec![1.0 / 6.0; 6]]), local] {
                steps(|problem| MEstimatorObjective::new(Form::Centred, &rho, problem), &encoded);
            }
        }
    }
}

/// Steps of an optimizer on an objective.
fn steps<'a, O: Objective>(of: impl Fn(&Problem<'a>) -> Result<O> + Sync, encoded: &'a Encoded) {
    let penalty = Penalty { l1: 0.0, l2: 1.0, exempt_intercepts: false };
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let clean = pool.install(|| {
            let mut f = Penalised::new(of(&encoded.problem(&INFERENCE)).unwrap(), &penalty, &encoded.map);
            let mut at = Point::new(vec![0.0; f.dim()]);
            f.evaluate(&mut at).unwrap();
            let mut steps = Lbfgs::default().start(&f, &Seed::new(1)).unwrap();
            for _ in 0..3 {
                assert!(steps.step(&mut f, &mut at).unwrap());
            }
            let mut step = || {
                let region = Region::new(ALLOCATOR);
                assert!(steps.step(&mut f, &mut at).unwrap());
                let change = region.change();
                change.allocations + change.reallocations == 0
            };
            (0..5).filter(|_| step()).count()
        });
        // A thread that the system kept waiting may come to its first work late, in one of the
        // steps.
        let place = (std::any::type_name::<O>(), encoded.map.len(), threads);
        assert!(
            clean >= 4,
            "{clean} of 5 steps without allocations; objective, weights and threads: {place:?}"
        );
    }
}
