//! A model file is read back whole or refused: cut, flipped, foreign, newer, and as version 1 left
//! it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::workbench::directory;
use crf_bench::ModelFile;
use crf_core::{Decode, Query};

/// A model of the workbench's `train.crfsuite`, trained with
/// `--seed 7 --set learner.l2=1 --set learner.stop.iterations=5`. It is never written again: a new
/// version of the format gets a golden file of its own.
fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/commands/golden/model-v1.crf")
}

#[test]
fn the_golden_file_of_version_1_still_labels() {
    let file = ModelFile::load(&golden()).expect("version 1 is read for ever");
    let (schema, path) = (file.contents.features.schema(), golden().with_extension("crfsuite"));
    let data = file.settings.format.read_file(&path, Some(schema)).expect("data");
    let x = file.contents.features.encode(Arc::new(data)).expect("encoded");
    let answers = file.predict(&x, Query::Marginals(Decode::Viterbi)).expect("answers");
    let names = answers.iter().flat_map(|answer| &answer.labels).map(|&label| schema.labels().name(label));
    let labels = names.collect::<Vec<_>>().join(" ");
    assert_eq!(labels, "O O O B-rain B-rain B-rain O O O B-rain B-rain B-rain");
    let (rain, none) = (answers[0].marginals[0], answers[0].marginals[1]);
    assert!((rain - 0.018604).abs() < 1e-6 && (none - 0.981396).abs() < 1e-6, "{rain} {none}");
    assert_eq!(file.settings.seed, 7);
    assert_eq!(file.contents.toolkit, "0.1.0");
}

#[test]
fn what_is_saved_is_loaded() {
    let file = ModelFile::load(&golden()).expect("a model");
    let path = directory("saved").join("model.crf");
    file.save(&path).expect("saved");
    assert_eq!(std::fs::read(&path).expect("bytes"), std::fs::read(golden()).expect("bytes"));
    let left: Vec<_> = std::fs::read_dir(path.parent().expect("a directory")).expect("entries").collect();
    assert_eq!(left.len(), 3, "no draft stays behind: {left:?}");
}

#[test]
fn every_truncation_is_refused() {
    let bytes = std::fs::read(golden()).expect("bytes");
    for length in 0..bytes.len() {
        let message = ModelFile::from_bytes(&bytes[..length]).expect_err("a part is no model");
        assert!(message.starts_with("truncated") || length == 0, "{length}: {message}");
    }
    let mut longer = bytes;
    longer.push(0);
    let message = ModelFile::from_bytes(&longer).expect_err("too long");
    assert!(message.starts_with("damaged"), "{message}");
}

#[test]
fn every_flipped_bit_is_refused() {
    let bytes = std::fs::read(golden()).expect("bytes");
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << bit;
            let message = ModelFile::from_bytes(&bytes).expect_err("a flipped bit");
            let want = match at {
                0..8 => "not a model file",
                8..12 => "version",
                12..20 => "",
                _ => "damaged: the checksum",
            };
            assert!(message.starts_with(want), "byte {at}, bit {bit}: {message}");
        }
    }
}

#[test]
fn a_promised_length_is_not_trusted() {
    let mut bytes = std::fs::read(golden()).expect("bytes");
    bytes[12..20].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(ModelFile::from_bytes(&bytes).expect_err("too long").starts_with("damaged"));
    bytes[12..20].copy_from_slice(&(1_u64 << 60).to_le_bytes());
    assert!(ModelFile::from_bytes(&bytes).expect_err("too long").starts_with("truncated"));
}
