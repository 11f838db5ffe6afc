//! One round over the same data by every learner that goes over them in rounds: time, not progress.

mod data;

use crf_core::{Learner, Problem};
use crf_inference::ForwardBackward;
use crf_learn::{
    Mle, Pairing, PassiveAggressive, Perceptron, Ssvm, SsvmFrankWolfe, SsvmNSlack, SsvmOneSlack,
    SsvmSubgradient, StopRule,
};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use data::corpus;

/// Rounds of a training that is timed: enough for what comes once to matter little.
const ROUNDS: u32 = 5;

fn learners() -> [(&'static str, Box<dyn Learner>); 7] {
    let ssvm = || Ssvm { c: 0.01, iterations: ROUNDS, tolerance: 0.0, ..Ssvm::default() };
    let stop = StopRule { iterations: ROUNDS, ..StopRule::default() };
    [
        ("mle", Box::new(Mle(Pairing { l2: 1.0, stop, ..Pairing::default() }))),
        ("perceptron", Box::new(Perceptron { epochs: ROUNDS, ..Perceptron::default() })),
        (
            "passive-aggressive",
            Box::new(PassiveAggressive { epochs: ROUNDS, ..PassiveAggressive::default() }),
        ),
        ("ssvm-subgradient", Box::new(SsvmSubgradient(ssvm()))),
        ("ssvm-frank-wolfe", Box::new(SsvmFrankWolfe(ssvm()))),
        ("ssvm-n-slack", Box::new(SsvmNSlack(ssvm()))),
        ("ssvm-one-slack", Box::new(SsvmOneSlack(ssvm()))),
    ]
}

fn rounds(c: &mut Criterion) {
    let mut group = c.benchmark_group("learners");
    group.sample_size(10);
    let (train, map) = corpus(400, 10, 10);
    let inference = ForwardBackward::default();
    let problem = Problem::new(&train, &map, &inference);
    for (name, learner) in learners() {
        group.throughput(Throughput::Elements(u64::from(ROUNDS) * train.data().n_positions() as u64));
        group.bench_function(BenchmarkId::new(name, "N400-L10-F10"), |b| {
            b.iter(|| data::train(&*learner, &problem));
        });
    }
    group.finish();
}

criterion_group!(benches, rounds);
criterion_main!(benches);
