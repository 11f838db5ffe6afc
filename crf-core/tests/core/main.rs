//! The tests of the vocabulary, in one program: each of its own would be linked anew.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod data;
mod evaluation;
mod features;
mod models;
