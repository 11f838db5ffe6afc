//! Lines of any length: read up to the limit, and refused before they take the memory.
use std::io::{self, BufRead, BufReader, Read as _};
use std::ops::ControlFlow;

use crate::common::read;
use crf_datasets::{Conll, Crfsuite, Csv, Format, Jsonl, Text};

/// The error of reading an endless text, whole and in chunks, and how many bytes were taken.
fn endless(format: &dyn Format, byte: u8) -> Vec<(String, u64)> {
    const FAR: u64 = 1 << 40;
    let schema = read(&Crfsuite::default(), "a\tx\n").unwrap().schema().clone();
    let mut all = Vec::new();
    for in_chunks in [false, true] {
        let mut from = BufReader::new(io::repeat(byte).take(FAR));
        let error = match in_chunks {
            true => {
                let ignore = &mut |_| Ok(ControlFlow::Continue(()));
                format.read_in_chunks("f", &mut from, &schema, 100, ignore).unwrap_err()
            }
            false => {
                let from: &mut dyn BufRead = &mut from;
                format
                    .read(Text::new("f", from), None, 1, &mut |_| Ok(ControlFlow::Continue(())))
                    .unwrap_err()
            }
        };
        all.push((error.to_string(), FAR - from.get_ref().limit()));
    }
    all
}

#[test]
fn zeros_are_refused_before_they_take_memory() {
    for format in [&Crfsuite::default() as &dyn Format, &Conll::default(), &Csv::default(), &Jsonl {}] {
        for (message, n_bytes) in endless(format, 0) {
            assert_eq!(message, "f:1:1: expected text, got a NUL byte");
            assert!(n_bytes < 2 << 20, "{n_bytes}");
        }
    }
}

#[test]
fn a_line_without_end_is_refused() {
    for (message, n_bytes) in endless(&Crfsuite::default(), b'a') {
        let want = "expected the end of the line within 268435456 bytes, got a longer line";
        assert_eq!(message, format!("f:1:268435457: {want}"));
        assert!(n_bytes < 300 << 20, "{n_bytes}");
    }
}

#[test]
fn lines_of_100_megabytes_are_read() {
    let n = 100_000_000;
    let data = read(&Crfsuite::default(), format!("a\tx{}\n", " ".repeat(n))).unwrap();
    assert_eq!(data.schema().channels()[0].kind.alphabet().unwrap().name(0).len(), n + 1);
    let data = read(&Jsonl {}, format!("{{\"x\":[{}[]]}}", "[],".repeat(n / 3))).unwrap();
    assert_eq!(data.n_positions(), n / 3 + 1);
}
