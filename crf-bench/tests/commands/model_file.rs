//! A model file is read back whole or refused: cut, flipped, foreign, newer, and as version 1 left
//! it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::workbench::{crf, directory};
use crf_bench::ModelFile;
use crf_core::{Decode, Query};
use crf_testing::cases;
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

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

/// A file with a content under the head that belongs to it.
fn sealed(payload: &[u8]) -> Vec<u8> {
    let mut file = b"CRFMODEL\x01\0\0\0".to_vec();
    file.extend((payload.len() as u64).to_le_bytes());
    file.extend(Sha256::digest(payload));
    file.extend(payload);
    file
}

const HEAD: usize = 52;

#[test]
fn bytes_after_the_content_are_refused_under_a_right_checksum() {
    let bytes = std::fs::read(golden()).expect("bytes");
    let payload = &bytes[HEAD..];
    assert!(sealed(payload) == bytes);
    for n in [1, 100_000] {
        let message = ModelFile::from_bytes(&sealed(&[payload, &vec![b'x'; n]].concat())).expect_err("junk");
        assert_eq!(message, format!("the content is followed by {n} bytes that are no part of the model"));
    }
}

#[test]
fn a_model_is_read_from_a_pipe() {
    let place = directory("model-pipe");
    let pipe = place.join("pipe");
    let inspected = |bytes: Vec<u8>| {
        let _ = std::fs::remove_file(&pipe);
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            // The reader may be gone before all is written.
            move || drop(std::fs::write(pipe, bytes))
        });
        let output = crf(&place, "inspect --model pipe").output().expect("the program runs");
        writer.join().expect("a writer");
        String::from_utf8([output.stdout, output.stderr].concat()).expect("UTF-8")
    };
    let bytes = std::fs::read(golden()).expect("bytes");
    let whole = inspected(bytes.clone());
    assert!(whole.contains(&format!(", {} bytes", bytes.len())) && whole.contains("SHA-256"), "{whole}");
    let half = bytes.len() / 2;
    let cut = inspected(bytes[..half].to_vec());
    assert!(cut.contains(&format!("truncated: expected {} bytes, got {half}", bytes.len())), "{cut}");
    let longer = inspected([&bytes[..], b"xx"].concat());
    assert!(longer.contains("damaged"), "{longer}");
    let mut promised = bytes;
    promised[12..20].copy_from_slice(&(1_u64 << 60).to_le_bytes());
    let refused = inspected(promised);
    assert!(refused.contains("pipe: the content of the model file would need"), "{refused}");
}

#[test]
fn parts_within_parts_cannot_overflow_the_stack() {
    let place = directory("nested-model");
    let lags = "{type=\"lag\",by=[1],of=".repeat(3);
    let features = format!("[{{state={lags}\"attributes\"{}}}]", "}".repeat(3));
    let line = format!("train --format crfsuite --data train.crfsuite --model m.crf --features {features}");
    crf(&place, &line).assert().success();
    let bytes = std::fs::read(place.join("m.crf")).expect("a model");
    let payload = &bytes[HEAD..];
    let level = b"\x04type\x03lag";
    let at = |from: usize| {
        let found = payload[from..].windows(level.len()).position(|window| window == level);
        from + found.expect("another level")
    };
    let (first, second) = (at(0), at(at(0) + 1));
    let deep = [&payload[..first], &payload[first..second].repeat(100_000)].concat();
    let message = ModelFile::from_bytes(&sealed(&deep)).expect_err("too deep");
    assert!(message.starts_with("the content is no model of version 1"), "{message}");
    // Without its checksum nothing of it is even looked at.
    let mut unsealed = sealed(&deep);
    unsealed[20] ^= 1;
    assert!(ModelFile::from_bytes(&unsealed).expect_err("damaged").starts_with("damaged: the checksum"));
}

/// Numbers that parsers and algorithms mistake: as doubles, and as postcard's varints.
fn extremes() -> Vec<Vec<u8>> {
    let doubles = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MAX, f64::MIN, 5e-324, -0.0, 1e154];
    let mut all: Vec<Vec<u8>> = doubles.iter().map(|x| x.to_le_bytes().to_vec()).collect();
    all.extend([vec![0], vec![1], vec![5], vec![0x7f], vec![0xff; 9], vec![0xff, 0xff, 0xff, 0xff, 0x0f]]);
    all.push([vec![0xff; 9], vec![1]].concat());
    all
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_content_under_a_right_checksum_is_used_or_refused(
        changes in prop::collection::vec(
            (any::<prop::sample::Index>(), prop::sample::select(extremes()), any::<bool>()),
            1..4,
        ),
    ) {
        let mut payload = std::fs::read(golden()).expect("bytes").split_off(HEAD);
        for (at, number, instead) in changes {
            let at = at.index(payload.len());
            // Instead of as many bytes, or of one: the width of a varint is that of its number.
            let end = if instead { (at + number.len()).min(payload.len()) } else { at + 1 };
            payload.splice(at..end, number);
        }
        // A panic fails the test; an error is an answer.
        if let Ok(model) = ModelFile::from_bytes(&sealed(&payload)) {
            let schema = model.contents.features.schema();
            let path = golden().with_extension("crfsuite");
            if let Ok(data) = model.settings.format.read_file(&path, Some(schema)) {
                let _ = model.tag(data);
            }
            model.contents.model.describe(20, &mut |_, _| {});
        }
    }
}
