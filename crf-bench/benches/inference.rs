//! Chain inference as chains grow longer and alphabets larger.

use std::hint::black_box;

use crf_core::{Beliefs, EdgeBeliefs, Inference, OwnedPotentials, Scratch, Seed};
use crf_inference::{Domain, ForwardBackward};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Sizes: length grows, then labels.
const SIZES: [(usize, usize); 10] = [
    (10, 22),
    (100, 22),
    (1_000, 22),
    (10_000, 22),
    (100, 2),
    (100, 4),
    (100, 8),
    (100, 32),
    (100, 64),
    (100, 128),
];

fn forward_backward(c: &mut Criterion) {
    for (name, domain) in [("forward-backward", Domain::Auto), ("forward-backward-log", Domain::Log)] {
        let mut group = c.benchmark_group(name);
        for (len, labels) in SIZES {
            let mut x = OwnedPotentials::random(len, labels, 3.0, &Seed::new(1));
            let p = x.view();
            let (mut node, mut sums) = (vec![0.0; len * labels], vec![0.0; labels * labels]);
            let mut scratch = Scratch::new();
            let with = ForwardBackward { domain };
            group.throughput(Throughput::Elements((len * labels * labels) as u64));
            group.bench_function(BenchmarkId::from_parameter(format!("T{len}-L{labels}")), |b| {
                b.iter(|| {
                    let edge = EdgeBeliefs::PerTable { sums: &mut sums, weight: 1.0 };
                    let mut out = Beliefs { node: &mut node, edge };
                    with.infer(black_box(&p), &mut out, &mut scratch).expect("a random chain is feasible")
                });
            });
        }
        group.finish();
    }
}

fn viterbi(c: &mut Criterion) {
    let mut group = c.benchmark_group("viterbi");
    for (len, labels) in SIZES {
        let mut x = OwnedPotentials::random(len, labels, 3.0, &Seed::new(1));
        let p = x.view();
        let (mut path, mut scratch) = (vec![0; len], Scratch::new());
        let with = ForwardBackward::default();
        group.throughput(Throughput::Elements((len * labels * labels) as u64));
        group.bench_function(BenchmarkId::from_parameter(format!("T{len}-L{labels}")), |b| {
            b.iter(|| {
                with.decode(black_box(&p), &mut path, &mut scratch).expect("a random chain is feasible")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, forward_backward, viterbi);
criterion_main!(benches);
