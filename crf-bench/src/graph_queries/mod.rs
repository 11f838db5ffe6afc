//! Inference on single graphs, for `crf infer` and for programs: no data set, no features, no
//! training.
//!
//! `json.rs` reads log potentials and checks their sizes; `answer.rs` runs an inference on them and
//! collects log Z, marginals and the most likely labelling.

pub(crate) mod answer;
pub(crate) mod json;
