//! Helpers that the tests of several crates share: random data, graphs and problems, and runs of
//! learners.
//!
//! Only ever a dev-dependency. Everything is drawn from a seed, so that a failure can be repeated.
//! A helper that fails panics, since a failed helper is a failed test.
//!
//! Start with `problems.rs` (learning problems), `datasets.rs` (data of every sort) or `graphs.rs`
//! (potentials on graphs, and all that an inference answers about them); `runs.rs` trains and
//! evaluates; `cases.rs` says how many cases a property test draws; `warnings.rs` listens.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod cases;
pub mod datasets;
pub mod graphs;
pub mod problems;
pub mod runs;
mod warnings;

pub use cases::cases;
pub use warnings::warnings;

/// True if two numbers agree to nine digits.
pub fn close(got: f64, want: f64) -> bool {
    (got - want).abs() <= 1e-9 * (1.0 + want.abs())
}
