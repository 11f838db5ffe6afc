#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]
use crf_core::{Learner, Problem};
use crf_learn as _;
use crf_testing::problems::{Draw, Encoded, data};
use crf_testing::runs::{INFERENCE, on_threads, quiet, text};
fn hash(s: &str) -> u64 {
    s.bytes().fold(0xcbf29ce484222325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100000001b3))
}
fn main() {
    let features = [
        r#"["intercept", "transition", "start", {"state": "value"}]"#,
        r#"["intercept", "transition", {"state": "equals", "pairs": "observed"}, {"state": {"type": "lag", "by": [-1, 1], "of": "equals"}}, {"transition": {"type": "lag", "by": [1], "of": "equals"}}]"#,
        r#"["intercept", {"state": "value"}, {"state": "equals"}, "transition", {"transition": "value"}]"#,
        r#"["intercept", {"state": "value"}, {"state": "equals"}, {"state": {"type": "lag", "by": [-2, -1, 0, 1, 2], "of": "value"}}]"#,
    ];
    let learners = [
        r#"{"type":"mle","l2":0.1}"#,
        r#"{"type":"mle","l1":0.5,"l2":0.1}"#,
        r#"{"type":"mle","l1":0.5,"optimizer":"projected-cg"}"#,
        r#"{"type":"mle","l2":0.1,"optimizer":{"type":"sgd","batch":4},"stop":{"iterations":5}}"#,
        r#"{"type":"mle","l2":0.1,"optimizer":{"type":"adam","batch":4},"stop":{"iterations":5}}"#,
        r#"{"type":"mle","l2":0.1,"patience":3}"#,
        r#"{"type":"mle","l2":0.1,"two_stage":true}"#,
        r#"{"type":"pseudo-likelihood","l2":0.1}"#,
        r#"{"type":"m-estimator","l2":0.1}"#,
        r#"{"type":"m-estimator","l2":0.1,"form":"joint","reference":"local"}"#,
        r#"{"type":"m-estimator","l2":0.1,"reference":"frequencies"}"#,
        r#"{"type":"perceptron","epochs":6}"#,
        r#"{"type":"perceptron","epochs":6,"average":false,"patience":2}"#,
        r#"{"type":"passive-aggressive","epochs":6}"#,
        r#"{"type":"passive-aggressive","epochs":6,"slack":"squared","margin":"zero-one"}"#,
        r#"{"type":"ssvm-frank-wolfe","c":0.1,"iterations":8}"#,
        r#"{"type":"ssvm-frank-wolfe","c":0.1,"iterations":8,"average":true}"#,
        r#"{"type":"ssvm-n-slack","c":0.1,"iterations":8}"#,
        r#"{"type":"ssvm-one-slack","c":0.1,"iterations":8,"margin":{"costs":{"L1":2.0}}}"#,
        r#"{"type":"ssvm-subgradient","c":0.1,"iterations":8}"#,
        r#"{"type":"gradient-tree-boosting","rounds":6}"#,
        r#"{"type":"gradient-tree-boosting","rounds":6,"gradient":"pseudo-likelihood","rows":0.7,"columns":0.7,"symbols":"single"}"#,
        r#"{"type":"gradient-tree-boosting","rounds":6,"gradient":"poster","leaf":"mean","patience":2}"#,
        r#"{"type":"gradient-tree-boosting","rounds":6,"gradient":"recurrent"}"#,
        r#"{"type":"virtual-evidence-boosting","rounds":6}"#,
        r#"{"type":"boosted-random-field","rounds":6}"#,
        r#"{"type":"boosted-random-field","rounds":6,"patience":2}"#,
        r#"{"type":"logit-boost","rounds":6}"#,
        r#"{"type":"boosted-hmm"}"#,
        r#"{"type":"hmm"}"#,
        r#"{"type":"hmm","emission":"bernoulli"}"#,
        r#"{"type":"hmm","emission":"categorical"}"#,
        r#"{"type":"discriminative-hmm","iterations":2}"#,
        r#"{"type":"neural-chain","hidden":[6,5],"epochs":3,"dropout":0.3}"#,
        r#"{"type":"neural-chain","hidden":[6],"epochs":3,"training":"joint","patience":2}"#,
        r#"{"type":"neural-chain","hidden":[6],"epochs":3,"pairwise":{"by":"pseudo-likelihood","l2":0.1}}"#,
        r#"{"type":"logistic"}"#,
        r#"{"type":"svc"}"#,
        r#"{"type":"best-of","learners":[{"type":"mle","l2":0.1},{"type":"mle","l2":10}]}"#,
        r#"{"type":"label-weighted","labels":"balanced","learner":{"type":"mle","l2":0.1}}"#,
        r#"{"type":"in-part","part":1,"of":2,"learner":{"type":"mle","l2":0.1}}"#,
        r#"{"type":"fixed","weights":{"y=L0*":1.0}}"#,
    ];
    let bp = crf_inference::BeliefPropagation::default();
    for (f, features) in features.iter().enumerate() {
        for (d, draw) in [
            Draw { sequences: 40, length: 30, labels: 3, unlabelled: 0, seed: 5 },
            Draw { sequences: 30, length: 12, labels: 9, unlabelled: 0, seed: 6 },
            Draw { sequences: 12, length: 12, labels: 4, unlabelled: 2, seed: 7 },
        ]
        .iter()
        .enumerate()
        {
            let (encoded, valid) = Encoded::with_valid(
                features,
                data(draw),
                data(&Draw { seed: draw.seed + 100, sequences: 10, ..draw.clone() }),
            );
            let even =
                Encoded { corpus: encoded.corpus.reweighted(|_| 1.0).unwrap(), map: encoded.map.clone() };
            for text_of in learners {
                let learner: Box<dyn Learner> = serde_json::from_str(text_of).unwrap();
                let local = text_of.contains("logistic") || text_of.contains("svc");
                let base = if local { &even } else { &encoded };
                let mut problem: Problem<'_> = Problem { valid: Some(&valid), ..base.problem(&INFERENCE) };
                if text_of.contains("virtual") {
                    problem.inference = &bp;
                }
                let fit = on_threads(2, || quiet(3, |run| learner.fit(&problem, run)));
                match fit {
                    Ok(fit) => {
                        let trace: String = fit
                            .trace
                            .iterations
                            .iter()
                            .map(|i| {
                                format!(
                                    "{:x} {:x} {} {:?} {:?};",
                                    i.objective.to_bits(),
                                    i.gradient_norm.to_bits(),
                                    i.evaluations,
                                    i.holdout.map(f64::to_bits),
                                    i.dual.map(f64::to_bits)
                                )
                            })
                            .collect();
                        println!(
                            "{f} {d} {text_of}: {:016x} {:016x} {:?}",
                            hash(&text(&fit)),
                            hash(&trace),
                            fit.trace.stop
                        );
                    }
                    Err(error) => println!("{f} {d} {text_of}: {error}"),
                }
            }
        }
    }
}
