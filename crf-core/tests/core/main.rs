//! Tests of the vocabulary, in one program, since each program would be linked anew.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod data;
mod evaluation;
mod features;
mod inference;
mod models;
