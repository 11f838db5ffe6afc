//! Tests of sources and formats, in one program.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;
mod formats;
mod games;
mod generators;
