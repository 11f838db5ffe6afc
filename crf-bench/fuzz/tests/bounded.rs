//! All fuzz targets on their seeds, and on mutations of them: a short run of what
//! `cargo xtask fuzz` does for long.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use crf_fuzz::TARGETS;
use crf_testing::cases;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Bytes that parsers treat in their own way: quotes, brackets, separators, ends of lines, digits.
const SPECIAL: &[u8] = b"\0\t\n\r \"#%&'()*+,-./0:;<=>?[\\]^_`{|}~\x1f\x7f\x80\xc3\xff19e";

/// Number of changed seeds for each target.
const N_CASES: u32 = 1000;

/// Change of a text.
#[derive(Debug, Clone)]
enum Change {
    /// Replaces a byte.
    Replace(prop::sample::Index, u8),
    /// Inserts a byte.
    Insert(prop::sample::Index, u8),
    /// Deletes a range.
    Delete(prop::sample::Index, usize),
    /// Repeats a range.
    Repeat(prop::sample::Index, usize, usize),
    /// Appends the end of another seed.
    Splice(prop::sample::Index, prop::sample::Index),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    let byte = || prop_oneof![prop::sample::select(SPECIAL), any::<u8>()];
    prop_oneof![
        (at(), byte()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        (at(), byte()).prop_map(|(at, byte)| Change::Insert(at, byte)),
        (at(), 1..12usize).prop_map(|(at, n)| Change::Delete(at, n)),
        (at(), 1..12usize, 1..40usize).prop_map(|(at, n, times)| Change::Repeat(at, n, times)),
        (at(), at()).prop_map(|(seed, at)| Change::Splice(seed, at)),
    ]
}

impl Change {
    fn apply(&self, text: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let end = |at: usize, n: usize, text: &Vec<u8>| (at + n).min(text.len());
        match self {
            Change::Insert(at, byte) => text.insert(at.index(text.len() + 1), *byte),
            _ if text.is_empty() => {}
            Change::Replace(at, byte) => {
                let at = at.index(text.len());
                text[at] = *byte;
            }
            Change::Delete(at, n) => {
                let at = at.index(text.len());
                text.drain(at..end(at, *n, text));
            }
            Change::Repeat(at, n, times) => {
                let at = at.index(text.len());
                let part = text[at..end(at, *n, text)].repeat(*times);
                text.splice(at..at, part);
            }
            Change::Splice(seed, at) => {
                let other = seed.get(seeds);
                text.truncate(at.index(text.len()));
                text.extend_from_slice(&other[at.index(other.len() + 1)..]);
            }
        }
    }
}

fn read_seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Runs a target on its seeds as they are, and on changed ones.
fn holds(name: &str) {
    let seeds = read_seeds(name);
    assert!(!seeds.is_empty(), "{name} has no seed");
    seeds.iter().for_each(|seed| crf_fuzz::run(name, seed));
    let changed = (any::<prop::sample::Index>(), prop::collection::vec(change(), 0..6));
    let config = Config { failure_persistence: None, ..cases(N_CASES) };
    let outcome = TestRunner::new(config).run(&changed, |(seed, changes)| {
        let mut text = seed.get(&seeds).clone();
        changes.iter().for_each(|change| change.apply(&mut text, &seeds));
        let held = catch_unwind(|| crf_fuzz::run(name, &text)).is_ok();
        prop_assert!(held, "{name} fails on {:?}", String::from_utf8_lossy(&text));
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

/// A test for each target, and one that none was forgotten.
macro_rules! bounded {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            holds(stringify!($name));
        })*

        #[test]
        fn every_target_has_a_test_and_a_program() {
            assert_eq!(TARGETS.map(|(name, _)| name), [$(stringify!($name)),*]);
            for (name, _) in TARGETS {
                let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("targets").join(format!("{name}.rs"));
                assert!(fs::read_to_string(program).unwrap().contains(&format!("run(\"{name}\"")));
            }
        }
    };
}

bounded!(conll crfsuite csv experiment graph jsonl model relational setting template training);
