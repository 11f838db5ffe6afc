//! One value and gradient of the likelihood as features, labels and data grow.

use std::hint::black_box;
use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Corpus, DatasetBuilder, FeatureMap, Features, Problem, Schema, Seed,
    Value,
};
use crf_inference::ForwardBackward;
use crf_learn::{Likelihood, Sharded};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::RngExt as _;

/// Sequences of 20 positions, each with `active` symbols out of 1,000 per channel.
fn corpus(sequences: usize, labels: usize, active: usize) -> (Corpus, Arc<FeatureMap>) {
    let symbols = Alphabet::new((0..1_000).map(|k| format!("s{k}")));
    let channel = |k| Channel { name: format!("c{k}"), kind: ChannelKind::Symbol(symbols.clone()) };
    let names = Alphabet::new((0..labels).map(|y| format!("y{y}")));
    let schema = Schema::chain((0..active).map(channel).collect(), names).expect("the schema is sound");
    let mut builder = DatasetBuilder::new(Arc::new(schema));
    let mut rng = Seed::new(1).rng();
    for _ in 0..sequences {
        for _ in 0..20 {
            // Squaring makes small numbers frequent, as words are.
            let mut symbol = || Value::Symbol((1_000.0 * rng.random::<f64>().powi(2)) as u32);
            let values: Vec<Value<'_>> = (0..active).map(|_| symbol()).collect();
            builder.push(&values, Some(rng.random_range(0..labels as u32))).expect("the position is sound");
        }
        builder.end_chain().expect("the sequence is sound");
    }
    let features: Features =
        serde_json::from_str(r#"["transition", {"state": "equals"}]"#).expect("the features are sound");
    let data = builder.finish();
    let fitted = features.fit(&data).expect("the features fit");
    let corpus = fitted.encode(Arc::new(data)).expect("the data are finite");
    let map = Arc::new(fitted.map(&corpus).expect("the map is small"));
    (corpus, map)
}

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
        let mut f = Sharded::new(Likelihood::new(&problem).expect("the problem is sound"));
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
