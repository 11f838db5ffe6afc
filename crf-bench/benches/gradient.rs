//! One value and gradient of the likelihood as features, labels and data grow.

mod data;

use std::hint::black_box;

use crf_core::Problem;
use crf_inference::ForwardBackward;
use crf_learn::{LikelihoodObjective, Sharded};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use data::corpus;

fn gradient(c: &mut Criterion) {
    let mut group = c.benchmark_group("gradient");
    group.sample_size(20);
    let sizes = [
        (100, 10, 10),
        (400, 10, 10),
        (1_600, 10, 10),
        (400, 10, 5),
        (400, 10, 20),
        (400, 10, 40),
        (400, 3, 10),
        (400, 30, 10),
        (400, 60, 10),
    ];
    for (sequences, labels, active) in sizes {
        let (train, map) = corpus(sequences, labels, active);
        let inference = ForwardBackward::default();
        let problem = Problem::new(&train, &map, &inference);
        let mut f = Sharded::new(LikelihoodObjective::new(&problem).expect("the problem is sound"));
        let w: Vec<f64> = (0..map.len()).map(|k| 0.1 * (k as f64).sin()).collect();
        let mut gradient = vec![0.0; w.len()];
        group.throughput(Throughput::Elements((sequences * 20) as u64));
        let name = format!("N{sequences}-L{labels}-F{active}");
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| f.evaluate(black_box(&w), &mut gradient).expect("every chain is feasible"));
        });
    }
    group.finish();
}

criterion_group!(benches, gradient);
criterion_main!(benches);
