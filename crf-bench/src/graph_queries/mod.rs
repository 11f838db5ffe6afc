//! Graphs and questions of `crf infer`.

pub(crate) mod answer;
pub(crate) mod json;
