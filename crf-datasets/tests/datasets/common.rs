//! Helpers of the tests of formats.
#![allow(dead_code, reason = "not every test uses everything")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{ChannelKind, Dataset, Schema};
use crf_datasets::{Format, Text};

/// Sequence with names: its weight, and label and observations of each position.
pub(crate) type Named = (f64, Vec<(Option<String>, BTreeMap<String, f64>)>);

/// All batches of a text, or the error message.
pub(crate) fn batches(
    format: &dyn Format,
    text: &[u8],
    schema: Option<&Arc<Schema>>,
    batch: usize,
) -> Result<Vec<Dataset>, String> {
    let mut all = Vec::new();
    let mut keep = |data| {
        all.push(data);
        Ok(ControlFlow::Continue(()))
    };
    format.read(Text::new("f", &mut &*text), schema, batch, &mut keep).map_err(|error| error.to_string())?;
    Ok(all)
}

/// A whole text as training data.
pub(crate) fn read(format: &dyn Format, text: impl AsRef<[u8]>) -> Result<Dataset, String> {
    batches(format, text.as_ref(), None, 1).map(|mut all| {
        assert_eq!(all.len(), 1);
        all.remove(0)
    })
}

/// A whole text, with names.
pub(crate) fn names(format: &dyn Format, text: impl AsRef<[u8]>) -> Vec<Named> {
    named(&read(format, text).unwrap())
}

/// Data as text, or the error message.
pub(crate) fn write(format: &dyn Format, data: &Dataset) -> Result<String, String> {
    let mut text = Vec::new();
    format.write(data, &mut text).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(text).unwrap())
}

/// Data with names. A symbol is `channel=symbol` with the value 1, values of a repeated attribute
/// add up, and zeros are omitted.
pub(crate) fn named(data: &Dataset) -> Vec<Named> {
    let sequence = |i: usize| {
        let x = data.sequence(i);
        let position = |t: usize| {
            let mut observed = BTreeMap::new();
            for (c, channel) in data.schema().channels().iter().enumerate() {
                match &channel.kind {
                    ChannelKind::Real => {
                        observed.insert(channel.name.clone(), x.real(c)[t]);
                    }
                    ChannelKind::Symbol(alphabet) => {
                        let symbol = alphabet.name(x.symbol(c)[t]);
                        observed.insert(format!("{}={symbol}", channel.name), 1.0);
                    }
                    ChannelKind::Bag(alphabet) => x.for_each_in_bag(c, t, |attribute, value| {
                        *observed.entry(alphabet.name(attribute).to_owned()).or_default() += value;
                    }),
                }
            }
            observed.retain(|_, value| *value != 0.0);
            (x.labels()[t].map(|label| data.label_name(0, label).to_owned()), observed)
        };
        (data.weight(i), (0..x.len()).map(position).collect())
    };
    (0..data.len()).map(sequence).collect()
}

/// Position with names: its label, and each observation with the bits of its value, in order.
pub(crate) type Exact = (Option<String>, Vec<(String, u64)>);

/// Data with names and the bits of all numbers: the weight and the positions of each sequence.
pub(crate) fn exact(data: &Dataset) -> Vec<(u64, Vec<Exact>)> {
    let sequence = |i: usize| {
        let x = data.sequence(i);
        let position = |t: usize| {
            let mut observed = Vec::new();
            for (c, channel) in data.schema().channels().iter().enumerate() {
                let name = |observation: &str| format!("{}={observation}", channel.name);
                match &channel.kind {
                    ChannelKind::Real => observed.push((name(""), x.real(c)[t].to_bits())),
                    ChannelKind::Symbol(alphabet) => {
                        observed.push((name(alphabet.name(x.symbol(c)[t])), 0));
                    }
                    ChannelKind::Bag(alphabet) => x.for_each_in_bag(c, t, |attribute, value| {
                        observed.push((name(alphabet.name(attribute)), value.to_bits()));
                    }),
                }
            }
            (x.labels()[t].map(|label| data.label_name(0, label).to_owned()), observed)
        };
        (data.weight(i).to_bits(), (0..x.len()).map(position).collect())
    };
    (0..data.len()).map(sequence).collect()
}

/// Edges of a sequence, with the names of their relations.
pub(crate) fn edges(data: &Dataset, i: usize) -> Vec<(usize, usize, &str)> {
    let shape = data.shape(i);
    let name = |e: usize| data.schema().relations()[shape.relation(e) as usize].name.as_str();
    (0..shape.n_edges()).map(|e| (shape.ends(e).0, shape.ends(e).1, name(e))).collect()
}

/// Position: its label, `""` if unknown, and its observations.
pub(crate) fn at(label: &str, observed: &[(&str, f64)]) -> (Option<String>, BTreeMap<String, f64>) {
    let observed = observed.iter().map(|(name, value)| (name.to_string(), *value)).collect();
    ((!label.is_empty()).then(|| label.to_owned()), observed)
}
