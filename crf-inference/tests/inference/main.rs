//! Tests of inference: exact algorithms against enumeration, approximate ones against the grade of
//! answer each claims.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod approximate_on_graphs;
mod chains;
mod exact_on_graphs;
mod messages;
mod possible;
mod shifts;
