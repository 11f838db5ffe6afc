//! What the tests of several crates share: random data, graphs and problems, and runs of learners.
//!
//! Only ever a dev-dependency. Everything is drawn from a seed, so that a failure can be repeated; what may fail here
//! panics, since a failed helper is a failed test.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

pub mod datasets;
pub mod graphs;
pub mod problems;
pub mod runs;

/// True if two numbers agree to nine digits.
pub fn close(got: f64, want: f64) -> bool {
    (got - want).abs() <= 1e-9 * (1.0 + want.abs())
}
