//! Paths of selectors as positions and candidates grow: the cost of a round is linear in the
//! non-zeros of both.

use std::ops::ControlFlow;
mod data;

use crf_core::{FitContext, Iteration, Problem, Seed, Selector};
use crf_inference::ForwardBackward;
use crf_select as _; // selectors are named by tag
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use data::corpus;

/// The name of each bench and its settings: all continue until a model has ten features, filters
/// until they have ranked.
const SELECTORS: [(&str, &str); 8] = [
    ("l1-path", r#"{"type": "l1-path", "most": 10}"#),
    ("grafting", r#"{"type": "grafting", "most": 10}"#),
    ("mean-field-gain", r#"{"type": "mean-field-gain", "most": 10}"#),
    ("pseudo-likelihood-gain", r#"{"type": "mean-field-gain", "probabilities": "conditional", "most": 10}"#),
    ("m-estimator-path", r#"{"type": "m-estimator-path", "most": 10}"#),
    ("mutual-information", r#"{"type": "mutual-information", "most": 10}"#),
    ("correlation", r#"{"type": "correlation", "most": 10}"#),
    ("relief", r#"{"type": "relief", "most": 10}"#),
];

fn paths(c: &mut Criterion) {
    let mut group = c.benchmark_group("selection");
    group.sample_size(10);
    let inference = ForwardBackward::default();
    for (sequences, attributes) in
        [(100, 10), (200, 10), (400, 10), (800, 10), (200, 5), (200, 20), (200, 40)]
    {
        let (train, map) = corpus(sequences, 3, attributes);
        let problem = Problem::new(&train, &map, &inference);
        group.throughput(Throughput::Elements((train.data().n_positions() * attributes) as u64));
        for (name, settings) in SELECTORS {
            let selector: Box<dyn Selector> = serde_json::from_str(settings).expect("the settings are sound");
            group.bench_function(BenchmarkId::new(name, format!("N{sequences}-F{attributes}")), |b| {
                b.iter(|| {
                    let mut go_on = |_: &Iteration| ControlFlow::Continue(());
                    let run = &mut FitContext::new(Seed::new(1), &mut go_on);
                    selector.path(&problem, run, &mut |_| Ok(ControlFlow::Continue(()))).expect("a path")
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, paths);
criterion_main!(benches);
