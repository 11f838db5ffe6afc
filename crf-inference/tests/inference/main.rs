//! The tests of inference, in one program: exact against enumeration, approximate against what each claims.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod approximate_on_graphs;
mod chains;
mod exact_on_graphs;
mod messages;
