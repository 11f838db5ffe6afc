//! Selectors, held to what they promise.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "../../../crf-learn/tests/common/mod.rs"]
mod common;
mod parts;
mod paths;
mod selectors;
