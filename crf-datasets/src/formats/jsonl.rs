mod edges;
mod object;

use std::collections::HashMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{Dataset, Edge, Result, Schema, Value};
use schemars::JsonSchema;
use serde::de::DeserializeSeed as _;
use serde::{Deserialize, Serialize};

use crate::formats::checked_writer::{CheckedWriter, write_error};
use crate::formats::chunks::ChunkBoundary;
use crate::formats::dataset_sink::{DatasetSink, NEXT, attributes};
use crate::formats::format::Format;
use crate::formats::jsonl::edges::misplaced;
use crate::formats::jsonl::object::{LineContents, Object};
use crate::rebuild::edges_of;
use crate::text::input::Text;
use crate::text::lines::{Line, Lines};

/// One JSON object per line and sequence:
/// `{"x": [{"attribute": 1.5}, ["other"]], "y": ["label", null]}`.
///
/// Each position of `x` is an object of attributes with their values, or a list of attributes with
/// the value 1 each; values of a repeated attribute add up. `y` has one label per position, `null`
/// for an unknown one, and may be omitted. `weight` is the weight of the sequence, 1 if omitted.
/// The attributes are the bag channel `attributes`.
///
/// `edges` makes the sequence a graph: `[[0, 1], [1, 4, "skip"]]` has an edge from the first
/// position to the second and one of the relation `skip` from the second to the fifth. Edges that
/// name no relation have the relation `next`; a repeated edge counts twice. A sequence without
/// `edges` is a chain, also in a file with graphs.
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
        let mut lines = Lines::from_text(text);
        let mut contents = LineContents::default();
        while let Some(line) = lines.next()? {
            if line.text.trim_ascii().is_empty() {
                continue;
            }
            contents.clear();
            let mut json = serde_json::Deserializer::from_str(line.text);
            let object = Object { sink: &mut sink, contents: &mut contents };
            object
                .deserialize(&mut json)
                .and_then(|()| json.end())
                .map_err(|error| json_error(&line, &error))?;
            let n = contents.ends.len();
            if let Some(labels) = contents.labels.as_ref().filter(|labels| labels.len() != n) {
                let want = format!("as many labels in `y` as positions in `x`, which are {n}");
                return Err(line.error(0, want, labels.len()));
            }
            let mut start = 0;
            for (t, &end) in contents.ends.iter().enumerate() {
                let label = contents.labels.as_ref().and_then(|labels| labels[t]);
                sink.push(&[Value::Bag(&contents.attributes[start..end])], label)?;
                start = end;
            }
            let next = match contents.edges.take() {
                Some(edges) => match edges.iter().find_map(|edge| misplaced(edge, n)) {
                    Some((want, got)) => return Err(line.error(0, want, got)),
                    None => sink.end_graph(contents.weight, edges)?,
                },
                None => sink.end_chain(contents.weight)?,
            };
            if next.is_break() {
                return Ok(());
            }
        }
        sink.finish(|| lines.require_sequence())
    }

    fn chunk_boundary(&self) -> ChunkBoundary {
        ChunkBoundary::AfterLines
    }

    fn write(&self, data: &Dataset, to: &mut dyn Write) -> Result<()> {
        let writer = CheckedWriter::graphs("jsonl", data)?;
        writer.one_bag()?;
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
                    let name = writer.symbol(i, t, 0, attribute)?;
                    if !value.is_finite() {
                        let what = format!("hold {name:?}, whose values sum to {value}; `crfsuite` can");
                        return Err(writer.error_at(i, t, what));
                    }
                    json(&mut line, name)?;
                    line.push(b':');
                    json(&mut line, &value)?;
                }
                line.push(b'}');
            }
            line.push(b']');
            if x.labels().iter().any(Option::is_some) {
                let labels: Vec<Option<&str>> =
                    (0..x.len()).map(|t| writer.label(i, t)).collect::<Result<_>>()?;
                line.extend_from_slice(b",\"y\":");
                json(&mut line, &labels)?;
            }
            if !data.is_chains() {
                let relations = data.schema().relations();
                let edges = edges_of(data.shape(i)).map(|Edge { u, v, relation }| {
                    let name = relations[relation as usize].name.as_str();
                    (u, v, Some(name).filter(|&name| name != NEXT))
                });
                if relations.iter().any(|relation| relation.name.is_empty()) {
                    return Err(writer.cannot("hold a relation without a name"));
                }
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
            to.write_all(&line).map_err(write_error)?;
        }
        Ok(())
    }
}

/// Attributes of a position, each once with the sum of its values: readers of JSON keep only one of
/// two equal keys.
fn summed(for_each: impl FnOnce(&mut dyn FnMut(u32, f64))) -> Vec<(u32, f64)> {
    let mut indices = HashMap::new();
    let mut bag = Vec::<(u32, f64)>::new();
    for_each(&mut |attribute, value| {
        let index = *indices.entry(attribute).or_insert(bag.len());
        match bag.get_mut(index) {
            Some((_, sum)) => *sum += value,
            None => bag.push((attribute, value)),
        }
    });
    bag
}

/// Appends a value as JSON.
fn json<T: Serialize + ?Sized>(line: &mut Vec<u8>, value: &T) -> Result<()> {
    serde_json::to_writer(line, value).map_err(|error| write_error(error.into()))
}

/// Error of the JSON parser in the words of the other formats, at this line.
fn json_error(line: &Line<'_>, error: &serde_json::Error) -> crf_core::Error {
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
