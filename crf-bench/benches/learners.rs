//! One round over the same data by every learner that goes over them in rounds: time, not progress.

mod data;

use crf_core::{Inference, Learner, Problem};
use crf_inference::{BeliefPropagation, ForwardBackward};
use crf_learn as _; // learners are named by tag
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use data::corpus;

/// Rounds of a training that is timed: enough for what comes once to matter little.
const ROUNDS: u32 = 5;

/// The name of each bench and its settings; `ROUNDS` stands for their number.
const LEARNERS: [(&str, &str); 18] = [
    ("mle", r#"{"type": "mle", "l2": 1, "stop": {"iterations": ROUNDS}}"#),
    (
        "mle-adam",
        r#"{"type": "mle", "l2": 1, "optimizer": {"type": "adam"}, "stop": {"iterations": ROUNDS}}"#,
    ),
    ("mle-sgd", r#"{"type": "mle", "l2": 1, "optimizer": {"type": "sgd"}, "stop": {"iterations": ROUNDS}}"#),
    ("mle-owl-qn", r#"{"type": "mle", "l1": 1, "stop": {"iterations": ROUNDS}}"#),
    (
        "mle-projected-cg",
        r#"{"type": "mle", "l1": 1, "optimizer": {"type": "projected-cg"}, "stop": {"iterations": ROUNDS}}"#,
    ),
    ("pseudo-likelihood", r#"{"type": "pseudo-likelihood", "l2": 1, "stop": {"iterations": ROUNDS}}"#),
    ("m-estimator", r#"{"type": "m-estimator", "l2": 1, "stop": {"iterations": ROUNDS}}"#),
    ("perceptron", r#"{"type": "perceptron", "epochs": ROUNDS}"#),
    ("passive-aggressive", r#"{"type": "passive-aggressive", "epochs": ROUNDS}"#),
    ("ssvm-subgradient", r#"{"type": "ssvm-subgradient", "c": 0.01, "iterations": ROUNDS, "tolerance": 0}"#),
    ("ssvm-frank-wolfe", r#"{"type": "ssvm-frank-wolfe", "c": 0.01, "iterations": ROUNDS, "tolerance": 0}"#),
    ("ssvm-n-slack", r#"{"type": "ssvm-n-slack", "c": 0.01, "iterations": ROUNDS, "tolerance": 0}"#),
    ("ssvm-one-slack", r#"{"type": "ssvm-one-slack", "c": 0.01, "iterations": ROUNDS, "tolerance": 0}"#),
    ("neural-chain", r#"{"type": "neural-chain", "hidden": [16], "epochs": ROUNDS}"#),
    ("gradient-tree-boosting", r#"{"type": "gradient-tree-boosting", "rounds": ROUNDS}"#),
    ("virtual-evidence-boosting", r#"{"type": "virtual-evidence-boosting", "rounds": ROUNDS}"#),
    ("boosted-random-field", r#"{"type": "boosted-random-field", "rounds": ROUNDS}"#),
    ("logit-boost", r#"{"type": "logit-boost", "rounds": ROUNDS}"#),
];

fn rounds(c: &mut Criterion) {
    let mut group = c.benchmark_group("learners");
    group.sample_size(10);
    let (train, map) = corpus(400, 10, 10);
    let (exact, messages) = (ForwardBackward::default(), BeliefPropagation::default());
    for (name, settings) in LEARNERS {
        let settings = settings.replace("ROUNDS", &ROUNDS.to_string());
        let learner: Box<dyn Learner> = serde_json::from_str(&settings).expect("the settings are sound");
        let inference: &dyn Inference = if name.starts_with("virtual") { &messages } else { &exact };
        let problem = Problem::new(&train, &map, inference);
        group.throughput(Throughput::Elements(u64::from(ROUNDS) * train.data().n_positions() as u64));
        group.bench_function(BenchmarkId::new(name, "N400-L10-F10"), |b| {
            b.iter(|| data::train(&*learner, &problem));
        });
    }
    group.finish();
}

criterion_group!(benches, rounds);
criterion_main!(benches);
