//! The tests of learners, in one program: each of its own would be linked with all of the toolkit anew.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "../common/mod.rs"]
mod common;

mod discriminative_hmm;
mod gradient;
mod gradient_tree_boosting;
mod graphs;
mod hmm;
mod label_weighted;
mod linfa;
mod local;
mod m_estimator;
mod merged;
mod neural_chain;
mod ocr;
mod optimum;
mod patches;
mod perceptron;
mod ssvm;
mod stochastic;
mod virtual_evidence_boosting;
mod weights;
