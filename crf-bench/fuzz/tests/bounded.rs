//! All fuzz targets on their seeds, and on mutations of them: a short run of what
//! `cargo xtask fuzz` does for long.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::LazyLock;

use crf_fuzz::TARGETS;
use crf_testing::cases;
use proptest::prelude::*;

/// Bytes that parsers treat in their own way: quotes, brackets, separators, ends of lines, digits.
const SPECIAL: &[u8] = b"\0\t\n\r \"#%&'()*+,-./0:;<=>?[\\]^_`{|}~\x1f\x7f\x80\xc3\xff19e";

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

/// Seeds of every target, in the order of [`TARGETS`].
static SEEDS: LazyLock<Vec<Vec<Vec<u8>>>> =
    LazyLock::new(|| TARGETS.iter().map(|(name, _)| read_seeds(name)).collect());

fn read_seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn every_target_has_a_program_and_seeds_that_hold() {
    for ((name, target), seeds) in TARGETS.iter().zip(&*SEEDS) {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("targets").join(format!("{name}.rs"));
        assert!(fs::read_to_string(program).unwrap().contains(&format!("run(\"{name}\"")));
        assert!(!seeds.is_empty(), "{name} has no seed");
        seeds.iter().for_each(|seed| target(seed));
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn every_target_holds_on_changed_seeds(
        seed in any::<prop::sample::Index>(),
        changes in prop::collection::vec(change(), 0..6),
    ) {
        for ((name, target), seeds) in TARGETS.iter().zip(&*SEEDS) {
            let mut text = seed.get(seeds).clone();
            changes.iter().for_each(|change| change.apply(&mut text, seeds));
            let held = catch_unwind(|| target(&text)).is_ok();
            prop_assert!(held, "{name} fails on {:?}", String::from_utf8_lossy(&text));
        }
    }
}
