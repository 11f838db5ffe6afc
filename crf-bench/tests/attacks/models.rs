//! Model files that are damaged under a right checksum, through every command that reads them.

use sha2::{Digest as _, Sha256};

use crate::harness::{Place, each};

/// Bytes of a model file before its content: the magic number, the version, the length, the
/// checksum.
const HEAD: usize = 8 + 4 + 8 + 32;

const COMMANDS: [&str; 4] = [
    "tag --model bad.crf --marginals d",
    "eval --model bad.crf --data d",
    "inspect --model bad.crf",
    "train --format crfsuite --data d --warm-start bad.crf --model new.crf --set learner.stop.iterations=2",
];

#[test]
fn a_model_with_a_wrong_byte_under_a_right_checksum_is_refused_or_labels() {
    let place = Place::new("models");
    place.write("d", "A\ta:1\tb:2\nB\tb:0.5\n\nA\tc\n");
    let train =
        "train --format crfsuite --data d --model good.crf --set learner.l2=1 --constraints {never_last=[]}";
    assert_eq!(place.run(&train.split(' ').collect::<Vec<_>>(), &["good.crf"]).code, 0);
    let good = std::fs::read(place.path("good.crf")).expect("a model");
    let mut attacks = Vec::new();
    // Each byte once, with one of four values; each command in turn.
    for at in HEAD..good.len() {
        let mut bad = good.clone();
        bad[at] = [0x00, 0x01, 0x7f, 0xff][at % 4];
        if bad != good {
            attacks.push((format!("byte {at}"), sealed(bad), COMMANDS[at / 4 % 4]));
        }
    }
    for kept in (HEAD..good.len()).step_by(37) {
        attacks.push((format!("{kept} bytes"), sealed(good[..kept].to_vec()), COMMANDS[kept % 4]));
    }
    let longer = [good.as_slice(), &[0; 1000]].concat();
    attacks.push(("junk at the end".to_owned(), sealed(longer), COMMANDS[0]));
    each(attacks, |(name, bytes, command)| {
        place.write("bad.crf", bytes);
        let outcome = place.run(&command.split(' ').collect::<Vec<_>>(), &["new.crf"]);
        assert!(outcome.code != 0 || name != "junk at the end", "junk was taken");
        if outcome.code == 0 && command.starts_with("tag") {
            let lines: Vec<&str> = outcome.stdout.split('\n').collect();
            assert!(lines.len() == 6 && lines[2].is_empty() && lines[4].is_empty(), "{name}: {outcome:?}");
            assert!(
                !outcome.stdout.contains("NaN") && !outcome.stdout.contains("inf"),
                "{name}: {outcome:?}"
            );
        }
    });
}

/// A model file with the length and the checksum of its content.
fn sealed(mut file: Vec<u8>) -> Vec<u8> {
    let (length, sum) = ((file.len() - HEAD) as u64, Sha256::digest(&file[HEAD..]));
    file[12..20].copy_from_slice(&length.to_le_bytes());
    file[20..HEAD].copy_from_slice(&sum);
    file
}
