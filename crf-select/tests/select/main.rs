//! Integration tests of the selectors, in one binary to link the toolkit once.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod choice;
mod columns;
mod parts;
mod paths;
mod selectors;
