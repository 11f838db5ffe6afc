//! Training runs without an observer, on any number of threads.

use std::ops::ControlFlow;

use crf_core::{Decode, EncodedDataset, Fit, FitContext, Learner, Model, Problem, Seed, evaluate};
use crf_inference::ForwardBackward;

/// Calls `f` with the context of a run without an observer.
pub fn quiet<R>(seed: u64, f: impl FnOnce(&mut FitContext<'_>) -> R) -> R {
    f(&mut FitContext::new(Seed::new(seed), &mut |_| ControlFlow::Continue(())))
}

/// Runs `f` on a pool of `threads` threads.
pub fn on_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(f)
}

/// Negative log-likelihood −log p(Y | X) of data under a model, by exact inference on chains.
pub fn log_loss(model: &dyn Model, x: &EncodedDataset) -> f64 {
    let answers = evaluate(model, x, &INFERENCE, Decode::Posterior).unwrap();
    let log_likelihood = answers.probabilities.unwrap().log_likelihood;
    (0..x.len()).map(|i| -x.data().weight(i) * log_likelihood[i]).sum()
}

/// Trains on a pool of `threads` threads and returns the model in its stored form.
pub fn trained(learner: &dyn Learner, problem: &Problem<'_>, threads: usize, seed: u64) -> String {
    text(&on_threads(threads, || quiet(seed, |run| learner.fit(problem, run))).unwrap())
}

/// Stored form of a model as text: equal models have equal texts.
pub fn text(fit: &Fit) -> String {
    serde_json::to_string(&fit.model).expect("a model that can be saved")
}

/// Exact inference on chains.
pub const INFERENCE: ForwardBackward = ForwardBackward { domain: crf_inference::Domain::Auto, beam: None };
