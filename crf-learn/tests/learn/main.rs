//! Tests of the learners, in one program: linking the whole toolkit once is faster than once per
//! file.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod boosting;
mod columns;
mod generative;
mod graphs;
mod label_weighted;
mod linfa;
mod local;
mod margin;
mod neural_chain;
mod objectives;
mod optimizers;
mod scoring;
mod weights;
