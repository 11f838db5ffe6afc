//! Rounds of boosting as positions and attributes grow: the cost of a round is linear in both.

mod data;

use crf_core::{Inference, Learner, Problem};
use crf_inference::{BeliefPropagation, ForwardBackward};
use crf_learn::{BoostedRandomField, Gradient, GradientTreeBoosting, VirtualEvidenceBoosting};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use data::corpus;

/// Rounds of a training that is timed: enough for what comes once to matter little.
const ROUNDS: u32 = 10;

fn boosters() -> [(&'static str, Box<dyn Learner>); 4] {
    let trees =
        |gradient| GradientTreeBoosting { gradient, rounds: ROUNDS, ..GradientTreeBoosting::default() };
    [
        ("likelihood-trees", Box::new(trees(Gradient::Likelihood))),
        ("pseudo-likelihood-trees", Box::new(trees(Gradient::PseudoLikelihood))),
        (
            "virtual-evidence",
            Box::new(VirtualEvidenceBoosting { rounds: ROUNDS, ..VirtualEvidenceBoosting::default() }),
        ),
        ("random-field", Box::new(BoostedRandomField { rounds: ROUNDS, ..BoostedRandomField::default() })),
    ]
}

fn rounds(c: &mut Criterion) {
    let mut group = c.benchmark_group("boosting");
    group.sample_size(10);
    let (chains, graphs) = (ForwardBackward::default(), BeliefPropagation::default());
    for (sequences, attributes) in
        [(100, 10), (200, 10), (400, 10), (800, 10), (200, 5), (200, 20), (200, 40)]
    {
        let (train, map) = corpus(sequences, 5, attributes);
        let entries = train.data().n_positions() * attributes;
        group.throughput(Throughput::Elements(u64::from(ROUNDS) * entries as u64));
        for (name, learner) in boosters() {
            let inference: &dyn Inference = if name.ends_with("trees") { &chains } else { &graphs };
            let problem = Problem::new(&train, &map, inference);
            group.bench_function(BenchmarkId::new(name, format!("N{sequences}-F{attributes}")), |b| {
                b.iter(|| data::train(&*learner, &problem));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, rounds);
criterion_main!(benches);
