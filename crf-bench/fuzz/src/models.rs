//! Model files with any content under a right checksum: read and usable, or refused.

use std::sync::Arc;

use crf_bench::ModelFile;
use crf_core::{ChannelKind, Dataset, DatasetBuilder, Schema, Value};
use sha2::{Digest as _, Sha256};

/// The bytes are the content of a model file, without its head.
pub(crate) fn model(bytes: &[u8]) {
    let Ok(model) = ModelFile::from_bytes(&with_head(bytes)) else { return };
    model.contents.model.describe(8, &mut |_, value| assert!(!value.is_nan(), "a weight is no number"));
    let schema = model.contents.features.schema().clone();
    if let Some(data) = sample(&schema)
        && let Ok(labels) = model.tag(data)
    {
        assert_eq!(labels.iter().map(Vec::len).sum::<usize>(), 4, "a label for each position");
    }
    let written = model.to_bytes().expect("what was read can be written");
    let again = ModelFile::from_bytes(&written).expect("what was written can be read");
    assert_eq!(again.to_bytes().expect("again"), written);
}

/// The head that belongs to a payload, and the payload.
fn with_head(payload: &[u8]) -> Vec<u8> {
    let mut file = b"CRFMODEL\x01\0\0\0".to_vec();
    file.extend((payload.len() as u64).to_le_bytes());
    file.extend(Sha256::digest(payload));
    file.extend(payload);
    file
}

/// A sequence of three positions and one of a single position, if the schema has chains.
fn sample(schema: &Arc<Schema>) -> Option<Dataset> {
    let mut data = DatasetBuilder::new(schema.clone());
    for t in 0..4 {
        let bag = [(0, 1.0), (u32::from(t == 2), 0.5)];
        let values: Vec<Value<'_>> = schema
            .channels()
            .iter()
            .map(|channel| match channel.kind {
                ChannelKind::Real => Value::Real(f64::from(t) - 1.5),
                ChannelKind::Symbol(_) => Value::Symbol(t),
                ChannelKind::Bag(_) => Value::Bag(&bag),
            })
            .collect();
        data.push(&values, None).ok()?;
        if t >= 2 {
            data.end_chain().ok()?;
        }
    }
    Some(data.finish())
}
