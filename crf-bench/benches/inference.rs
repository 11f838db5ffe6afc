//! Chain inference as chains grow longer and alphabets larger, message passing as grids grow.

use std::hint::black_box;

use crf_core::{Beliefs, EdgeBeliefs, Graph, Inference, OwnedPotentials, Scratch, Seed};
use crf_inference::{BeliefPropagation, Domain, ForwardBackward, MessageSchedule, TreeReweighted};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::RngExt as _;

/// Sizes: length grows, with many labels and with few; then labels do.
const SIZES: [(usize, usize); 12] = [
    (10, 22),
    (100, 22),
    (1_000, 22),
    (10_000, 22),
    (1_000, 3),
    (10_000, 3),
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
            let with = ForwardBackward { domain, ..ForwardBackward::default() };
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

/// A grid with a table for each edge; potentials are uniform between −1 and 1.
fn grid(side: u32, labels: u32) -> OwnedPotentials {
    let right = |u: u32| (u % side + 1 < side).then_some((u, u + 1));
    let down = |u: u32| (u + side < side * side).then_some((u, u + side));
    let edges = (0..side * side).flat_map(|u| right(u).into_iter().chain(down(u)));
    let graph = Graph::bare(vec![labels; (side * side) as usize], edges).expect("a grid");
    let mut rng = Seed::new(1).rng();
    let mut draw = |n: u32| (0..n).map(|_| 2.0 * rng.random::<f64>() - 1.0).collect::<Vec<f64>>();
    let node = draw(side * side * labels);
    let n_edges = graph.edges().len() as u32;
    let tables: Vec<Vec<f64>> = (0..n_edges).map(|_| draw(labels * labels)).collect();
    OwnedPotentials::graph(graph, node, &tables, (0..n_edges).collect()).expect("sizes that fit")
}

/// Ten sweeps over grids of 10 × 10 to 300 × 300, and over one as labels grow: cost is linear in
/// edges.
fn messages(c: &mut Criterion) {
    let sizes = [(10, 2), (30, 2), (100, 2), (300, 2), (30, 4), (30, 8), (30, 16), (30, 32)];
    let (max_sweeps, tolerance) = (10, 0.0);
    let propagation = |schedule| BeliefPropagation { schedule, max_sweeps, tolerance, damping: 0.0 };
    let all: [(&str, Box<dyn Inference>); 4] = [
        ("belief-propagation-sequential", Box::new(propagation(MessageSchedule::Sequential))),
        ("belief-propagation-parallel", Box::new(propagation(MessageSchedule::Parallel))),
        ("belief-propagation-residual", Box::new(propagation(MessageSchedule::Residual))),
        ("tree-reweighted", Box::new(TreeReweighted { max_sweeps, tolerance, ..TreeReweighted::default() })),
    ];
    for (name, with) in all {
        let mut group = c.benchmark_group(name);
        group.sample_size(10);
        for (side, labels) in sizes {
            let mut x = grid(side, labels);
            let p = x.view();
            let (mut node, mut scratch) = (vec![0.0; p.node().len()], Scratch::new());
            group.throughput(Throughput::Elements(u64::from(max_sweeps) * p.shape().n_edges() as u64));
            group.bench_function(BenchmarkId::from_parameter(format!("grid{side}-L{labels}")), |b| {
                b.iter(|| {
                    let mut out = Beliefs { node: &mut node, edge: EdgeBeliefs::None };
                    with.infer(black_box(&p), &mut out, &mut scratch).expect("a random grid is feasible")
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, forward_backward, viterbi, messages);
criterion_main!(benches);
