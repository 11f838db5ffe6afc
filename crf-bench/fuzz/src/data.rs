//! The file formats: what is read is the same in batches and in chunks, can be written, and is the
//! same when it is read again.

use std::ops::ControlFlow;

use crf_core::{Dataset, Result};
use crf_datasets::{Conll, Crfsuite, Csv, Format, Jsonl, Separator, Text};

use crate::choice;

pub(crate) fn conll(bytes: &[u8]) {
    let (choice, text) = choice(bytes);
    let separator = if choice & 1 == 0 { Separator::Whitespace } else { Separator::Tab };
    let columns = match choice >> 1 & 3 {
        0 => Vec::new(),
        1 => vec!["word".to_owned()],
        _ => vec!["word".to_owned(), "pos".to_owned()],
    };
    round_trip(&Conll { columns, separator, label: choice & 8 == 0, ..Conll::default() }, text);
}

pub(crate) fn crfsuite(bytes: &[u8]) {
    let (choice, text) = choice(bytes);
    round_trip(&Crfsuite { labelled: choice & 1 == 0 }, text);
}

pub(crate) fn csv(bytes: &[u8]) {
    let (choice, text) = choice(bytes);
    let sequence = (choice & 1 == 1).then(|| "seq".to_owned());
    round_trip(&Csv { sequence, ..Csv::default() }, text);
}

pub(crate) fn jsonl(bytes: &[u8]) {
    round_trip(&Jsonl {}, bytes);
}

/// Reads a text whole; with its own schema in batches; and again what is written of it.
fn round_trip(format: &dyn Format, text: &[u8]) {
    let Ok(data) = read(format, text) else { return };
    let mut n_positions = 0;
    let batches = format.read(Text::new("again", &mut &*text), Some(data.schema()), 2, &mut |part| {
        n_positions += part.n_positions();
        assert_eq!(part.n_foreign(), 0, "a label that the same text has is foreign");
        Ok(ControlFlow::Continue(()))
    });
    batches.unwrap_or_else(|error| panic!("read whole, but not in batches: {error}"));
    assert_eq!(n_positions, data.n_positions(), "batches lose positions");
    let mut in_chunks = Vec::new();
    let chunks = format.read_in_chunks("again", &mut &*text, data.schema(), 2, &mut |parts| {
        in_chunks.extend(parts);
        Ok(ControlFlow::Continue(()))
    });
    chunks.unwrap_or_else(|error| panic!("read whole, but not in chunks: {error}"));
    let lengths = |data: &Dataset| (0..data.len()).map(|i| data.range(i).len()).collect::<Vec<_>>();
    let in_chunks: Vec<usize> = in_chunks.iter().flat_map(lengths).collect();
    assert_eq!(in_chunks, lengths(&data), "chunks cut sequences");
    for label in data.schema().labels().names().iter() {
        assert!(label.lines().count() == 1 && !label.contains('\t'), "a label of many lines: {label:?}");
    }
    let mut written = Vec::new();
    if format.write(&data, &mut written).is_err() {
        return;
    }
    let again = read(format, &written).unwrap_or_else(|error| panic!("written, but not read: {error}"));
    let mut twice = Vec::new();
    format.write(&again, &mut twice).unwrap_or_else(|error| panic!("written once, but not twice: {error}"));
    assert_eq!(again.n_positions(), data.n_positions(), "writing loses positions");
    assert_eq!(String::from_utf8_lossy(&twice), String::from_utf8_lossy(&written));
}

fn read(format: &dyn Format, mut text: &[u8]) -> Result<Dataset> {
    let mut all = None;
    format.read(Text::new("text", &mut text), None, usize::MAX, &mut |data| {
        assert!(all.replace(data).is_none(), "one dataset without a schema");
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(all.expect("what is read without an error is a dataset"))
}
