//! Fuzz targets: everything that the toolkit reads, with what must hold for any bytes.
//!
//! A target takes bytes, reads them as a user's file, and panics if a promise is broken: what is
//! read can be written and read again, marginals are probabilities, and nothing else than an error
//! comes of what cannot be read. `tests/bounded.rs` runs all targets on the seeds in `corpus` and
//! on some mutations of them, as an ordinary test; `cargo xtask fuzz` runs them under libFuzzer,
//! with the programs in `targets`.
//!
//! A new target is a function here, its entry in [`TARGETS`], a line in `targets`, its `[[bin]]`,
//! and at least one seed.
#![forbid(unsafe_code)]

mod configs;
mod data;
mod graphs;
mod models;

/// Function that reads bytes as a user's file, and panics if a promise is broken.
pub type FuzzTarget = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, FuzzTarget); 11] = [
    ("conll", data::conll),
    ("crfsuite", data::crfsuite),
    ("csv", data::csv),
    ("experiment", configs::experiment),
    ("graph", graphs::graph),
    ("jsonl", data::jsonl),
    ("model", models::model),
    ("relational", configs::relational),
    ("setting", configs::setting),
    ("template", configs::template),
    ("training", configs::training),
];

/// Runs a target by name: the whole program of libFuzzer.
///
/// # Panics
/// If there is no such target, or if `bytes` break a promise.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|(other, _)| *other == name);
    target.unwrap_or_else(|| panic!("no target is called {name}")).1(bytes);
}

/// Splits the first byte off, which chooses settings.
fn choice(bytes: &[u8]) -> (usize, &[u8]) {
    bytes.split_first().map_or((0, bytes), |(&first, rest)| (first as usize, rest))
}
