//! Attacks on the real program: damaged files, absurd numbers, odd settings, hostile places.
//!
//! Whatever it is given, a run ends in time with exit code 0, 1 or 2, says one error if it fails,
//! and touches no file that it did not make. `harness.rs` holds every run to that; each attack adds
//! what is right for it.
#![cfg(unix)]

mod columns;
mod exact;
mod harness;
mod memory;
mod models;
mod numbers;
mod places;
mod settings;
mod text;
