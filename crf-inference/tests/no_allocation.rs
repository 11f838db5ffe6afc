//! Message passing and mean field allocate nothing after the first call, on one thread or on
//! several.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::alloc::System;

use crf_core::{Beliefs, EdgeBeliefs, Inference, Messages, OwnedPotentials, Scratch};
use crf_inference::{BeliefPropagation, MeanField, MessageSchedule, TreeReweighted};
use crf_testing::graphs::grid;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

// The only test of this file: the allocator counts for the whole process.
#[test]
fn sweeps_allocate_nothing_after_warm_up() {
    let graph = grid(100, 2);
    let node = (0..20_000).map(|i| f64::from(i % 7) / 7.0).collect();
    let mut x = OwnedPotentials::graph(graph, node, &[[0.3, -0.2, 0.1, 0.4]], vec![]).unwrap();
    let p = x.view();
    let mut all: Vec<Box<dyn Inference>> = vec![Box::new(MeanField { max_sweeps: 5, tolerance: 0.0 })];
    for schedule in [MessageSchedule::Sequential, MessageSchedule::Parallel, MessageSchedule::Residual] {
        let (max_sweeps, tolerance) = (5, 0.0);
        all.push(Box::new(BeliefPropagation { schedule, max_sweeps, tolerance, damping: 0.0 }));
        all.push(Box::new(TreeReweighted { schedule, max_sweeps, tolerance, damping: 0.2, forests: 4 }));
    }
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (mut node, mut sums) = (vec![0.0; 20_000], vec![0.0; 4]);
            let (mut labels, mut messages) = (vec![0; 10_000], Messages::default());
            for with in &all {
                let mut scratch = Scratch::new();
                let mut run = || {
                    let edge = EdgeBeliefs::PerTable { sums: &mut sums, weight: 1.0 };
                    with.infer(&p, &mut Beliefs { node: &mut node, edge }, &mut scratch).unwrap();
                    with.decode(&p, &mut labels, &mut scratch).unwrap();
                    if let Some(with) = with.as_message_passing() {
                        with.pass(&p, 1, &mut messages, &mut scratch).unwrap();
                    }
                };
                run();
                let region = Region::new(ALLOCATOR);
                run();
                let change = region.change();
                let counts = (change.allocations, change.reallocations);
                assert_eq!(counts, (0, 0), "{with:?} on {threads} threads");
            }
        });
    }
}
