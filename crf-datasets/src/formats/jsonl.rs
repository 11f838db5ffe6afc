use std::ops::ControlFlow;
mod edges;
mod object;

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use crf_core::{Dataset, Edge, Result, Schema, Value};
use schemars::JsonSchema;
use serde::de::DeserializeSeed as _;
use serde::{Deserialize, Serialize};

use crate::formats::checked_writer::{CheckedWriter, unwritten};
use crate::formats::chunks::ChunkBoundary;
use crate::formats::dataset_sink::{DatasetSink, NEXT, attributes};
use crate::formats::format::{Format, Text};
use crate::formats::jsonl::edges::misplaced;
use crate::formats::jsonl::object::{Object, Parts};
use crate::text::lines::{Line, Lines};
use crate::wrappers::rebuild::edges_of;

/// One JSON object a line and sequence: `{"x": [{"attribute": 1.5}, ["other"]], "y": ["label", null]}`.
///
/// Each position of `x` is an object of attributes with their values, or a list of attributes that are 1
/// each; one that comes twice counts twice. `y` has one label per position, `null` for an unknown one, and
/// may be left out. `weight` is how much the sequence counts: 1 when left out. The attributes are the bag
/// channel `attributes`.
///
/// `edges` makes a graph of the sequence: `[[0, 1], [1, 4, "skip"]]` has an edge from the first position to
/// the second and one of the relation `skip` from the second to the fifth. Edges that name no relation are of
/// `next`; one that comes twice counts twice. A sequence without `edges` is a chain, also beside graphs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Jsonl {}

crf_core::plugin!("format", Jsonl, "jsonl");

#[typetag::serde(name = "jsonl")]
impl Format for Jsonl {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn read(
        &self,
        text: Text<'_>,
        schema: Option<&Arc<Schema>>,
        batch: usize,
        emit: &mut dyn FnMut(Dataset) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut sink = DatasetSink::new(text.name, attributes(), schema, batch, emit)?;
        let mut lines = Lines::of(text);
        let mut parts = Parts::default();
        while let Some(line) = lines.next()? {
            if line.text.trim_ascii().is_empty() {
                continue;
            }
            parts.clear();
            let mut json = serde_json::Deserializer::from_str(line.text);
            let object = Object { sink: &mut sink, parts: &mut parts };
            object.deserialize(&mut json).and_then(|()| json.end()).map_err(|error| at(&line, &error))?;
            let n = parts.ends.len();
            if let Some(labels) = parts.labels.as_ref().filter(|labels| labels.len() != n) {
                let want = format!("as many labels in `y` as positions in `x`, which are {n}");
                return Err(line.error(0, want, labels.len()));
            }
            let mut start = 0;
            for (t, &end) in parts.ends.iter().enumerate() {
                let label = parts.labels.as_ref().and_then(|labels| labels[t]);
                sink.push(&[Value::Bag(&parts.attributes[start..end])], label)?;
                start = end;
            }
            let next = match parts.edges.take() {
                Some(edges) => match edges.iter().find_map(|edge| misplaced(edge, n)) {
                    Some((want, got)) => return Err(line.error(0, want, got)),
                    None => sink.end_graph(parts.weight, edges)?,
                },
                None => sink.end(parts.weight)?,
            };
            if next.is_break() {
                return Ok(());
            }
        }
        sink.finish(|| lines.no_sequence())
    }

    fn cut(&self) -> ChunkBoundary {
        ChunkBoundary::AfterLines
    }

    fn write(&self, data: &Dataset, to: &mut dyn Write) -> Result<()> {
        let outlet = CheckedWriter::graphs("jsonl", data)?;
        outlet.one_bag()?;
        let mut line = Vec::new();
        for i in 0..data.len() {
            line.clear();
            line.extend_from_slice(b"{\"x\":[");
            let x = data.sequence(i);
            for t in 0..x.len() {
                line.extend_from_slice(if t == 0 { b"{" } else { b",{" });
                for (k, (attribute, value)) in summed(|f| x.for_each_in_bag(0, t, f)).into_iter().enumerate()
                {
                    if k > 0 {
                        line.push(b',');
                    }
                    let name = outlet.symbol(i, t, 0, attribute)?;
                    if !value.is_finite() {
                        let what = format!("hold {name:?}, whose values sum to {value}; `crfsuite` can");
                        return Err(outlet.at(i, t, what));
                    }
                    json(&mut line, name)?;
                    line.push(b':');
                    json(&mut line, &value)?;
                }
                line.push(b'}');
            }
            line.push(b']');
            if x.labels().iter().any(Option::is_some) {
                let labels: Vec<Option<&str>> = (0..x.len()).map(|t| outlet.label(i, t)).collect();
                line.extend_from_slice(b",\"y\":");
                json(&mut line, &labels)?;
            }
            if !data.is_chains() {
                let relations = data.schema().relations();
                let edges = edges_of(data.shape(i)).map(|Edge { u, v, relation }| {
                    let name = relations[relation as usize].name.as_str();
                    (u, v, Some(name).filter(|&name| name != NEXT))
                });
                line.extend_from_slice(b",\"edges\":[");
                for (e, (u, v, name)) in edges.enumerate() {
                    line.extend_from_slice(if e == 0 { b"" } else { b"," });
                    match name {
                        Some(name) => json(&mut line, &(u, v, name))?,
                        None => json(&mut line, &(u, v))?,
                    }
                }
                line.push(b']');
            }
            if data.weight(i) != 1.0 {
                line.extend_from_slice(b",\"weight\":");
                json(&mut line, &data.weight(i))?;
            }
            line.extend_from_slice(b"}\n");
            to.write_all(&line).map_err(unwritten)?;
        }
        Ok(())
    }
}

/// The attributes of a position, each once: readers of JSON keep only one of two equal keys.
fn summed(for_each: impl FnOnce(&mut dyn FnMut(u32, f64))) -> Vec<(u32, f64)> {
    let (mut places, mut bag) = (HashMap::new(), Vec::<(u32, f64)>::new());
    for_each(&mut |attribute, value| {
        let place = *places.entry(attribute).or_insert(bag.len());
        match bag.get_mut(place) {
            Some((_, sum)) => *sum += value,
            None => bag.push((attribute, value)),
        }
    });
    bag
}

fn json<T: Serialize + ?Sized>(line: &mut Vec<u8>, value: &T) -> Result<()> {
    serde_json::to_writer(line, value).map_err(|error| unwritten(error.into()))
}

/// What JSON says is wrong, in our words and at our line.
fn at(line: &Line<'_>, error: &serde_json::Error) -> crf_core::Error {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    let column = error.column().saturating_sub(1);
    match message.rsplit_once(", expected ") {
        Some((got, want)) => {
            let got = got.trim_start_matches("invalid type: ").trim_start_matches("invalid value: ");
            line.error(column, want, got)
        }
        None => line.error(column, "valid JSON", format!("an error: {message}")),
    }
}
