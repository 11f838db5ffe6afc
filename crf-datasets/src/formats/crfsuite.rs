use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{Dataset, Result, Schema, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::formats::checked_writer::{CheckedWriter, write_error};
use crate::formats::chunks::ChunkBoundary;
use crate::formats::dataset_sink::{DatasetSink, attributes};
use crate::formats::format::Format;
use crate::formats::label_name::LABEL;
use crate::text::fields::finite;
use crate::text::input::Text;
use crate::text::lines::{Line, Lines};

/// Lines of a label and attributes, separated by TABs, as CRFsuite reads them.
///
/// A blank line, also one of spaces, ends a sequence. An attribute is a name, or a name with a
/// value as in `name:2.5`. The value is 1 if omitted, and values of a repeated attribute add up. In
/// names `\:` stands for a colon and `\\` for a backslash; other backslashes stand for themselves.
/// An empty label is an unknown label. A line `@weight:2.5` sets the weight of its sequence. The
/// attributes are the bag channel `attributes`.
///
/// Deviations from CRFsuite: fields end at TABs only, so names may hold spaces. `#` begins no
/// comment. A colon in a label need not be escaped. A TAB at the end of a line is ignored, and any
/// other empty field is an error. A value that is not a finite number is an error too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Crfsuite {
    /// True if the first field of a line is its label; otherwise all fields are attributes.
    pub labelled: bool,
}

impl Default for Crfsuite {
    fn default() -> Self {
        Crfsuite { labelled: true }
    }
}

crf_core::plugin!("format", Crfsuite, "crfsuite");

/// Prefix of a line that holds the weight of its sequence.
const WEIGHT: &str = "@weight:";
/// Characters that no name can hold.
const SEPARATORS: [char; 4] = ['\t', '\n', '\r', '\0'];
const POSITIONS: &str = "positions after the weight";

#[typetag::serde(name = "crfsuite")]
impl Format for Crfsuite {
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
        let mut bag = Vec::new();
        let mut unescaped = String::new();
        let mut weight = None;
        loop {
            let line = lines.next()?;
            let Some(line) = line.filter(|line| !is_blank(line.text)) else {
                if sink.n_open() > 0 && sink.end_chain(weight.take().unwrap_or(1.0))?.is_break() {
                    return Ok(());
                }
                match line {
                    Some(line) if weight.is_some() => return Err(line.error(0, POSITIONS, "a blank line")),
                    Some(_) => continue,
                    None => break,
                }
            };
            if let Some(value) = weight_of(line.text) {
                let want = "a finite weight of at least 0";
                let got = format!("`{value}`");
                let value = finite(value).filter(|&value| value >= 0.0);
                weight = Some(value.ok_or_else(|| line.error(WEIGHT.len(), want, got))?);
                continue;
            }
            let text = line.text.strip_suffix('\t').unwrap_or(line.text);
            let (label, mut offset) = if self.labelled {
                let end = text.find('\t').unwrap_or(text.len());
                let label = unescape(&text[..end], &mut unescaped);
                let known = (!label.is_empty()).then(|| {
                    sink.label(label).ok_or_else(|| line.error(0, LABEL, format_args!("`{label}`")))
                });
                (known.transpose()?, end + 1)
            } else {
                (None, if text.is_empty() { 1 } else { 0 })
            };
            bag.clear();
            while offset <= text.len() {
                let (attribute, end) = attribute(&line, text, offset, &mut unescaped, &mut sink)?;
                bag.push(attribute);
                offset = end + 1;
            }
            sink.push(&[Value::Bag(&bag)], label)?;
        }
        if weight.is_some() {
            return Err(lines.last().error(0, POSITIONS, "the end of the file"));
        }
        sink.finish(|| lines.require_sequence())
    }

    fn chunk_boundary(&self) -> ChunkBoundary {
        ChunkBoundary::AfterBlankLines
    }

    fn without_labels(&self) -> Option<(&'static str, Box<dyn Format>)> {
        let unlabelled = || Box::new(Crfsuite { labelled: false }) as Box<dyn Format>;
        self.labelled.then(|| ("format.labelled=false", unlabelled()))
    }

    fn write(&self, data: &Dataset, to: &mut dyn Write) -> Result<()> {
        let writer = CheckedWriter::chains("crfsuite", data)?;
        writer.one_bag()?;
        writer.no_empty_sequence()?;
        let mut line = String::new();
        let mut bag = Vec::new();
        for i in 0..data.len() {
            if data.weight(i) != 1.0 {
                writeln!(to, "{WEIGHT}{:?}", data.weight(i)).map_err(write_error)?;
            }
            for t in 0..data.range(i).len() {
                line.clear();
                bag.clear();
                if self.labelled {
                    escape(writer.label_or_empty(i, t)?, &mut line);
                    line.push('\t');
                }
                data.sequence(i).for_each_in_bag(0, t, |attribute, value| bag.push((attribute, value)));
                for &(attribute, value) in &bag {
                    let name = writer.symbol(i, t, 0, attribute)?;
                    writer.refuse_chars(i, t, name, &SEPARATORS, "; `jsonl` can")?;
                    if name.is_empty()
                        || (!self.labelled && weight_of(&format!("{name}:")).is_some() && bag.len() == 1)
                    {
                        return Err(writer.error_at(
                            i,
                            t,
                            format!("hold the name {name:?} here; `jsonl` can"),
                        ));
                    }
                    escape(name, &mut line);
                    if value != 1.0 {
                        line.push_str(&format!(":{value:?}"));
                    }
                    line.push('\t');
                }
                // The last TAB stays if the line would be blank without it.
                if line.is_empty() {
                    line.push('\t');
                } else if !is_blank(&line[..line.len() - 1]) {
                    line.pop();
                }
                writer.no_mark(i, t, &line)?;
                line.push('\n');
                to.write_all(line.as_bytes()).map_err(write_error)?;
            }
            to.write_all(b"\n").map_err(write_error)?;
        }
        Ok(())
    }
}

/// The attribute at byte offset `start`, and the offset at which its field ends.
#[inline]
fn attribute(
    line: &Line<'_>,
    text: &str,
    start: usize,
    unescaped: &mut String,
    sink: &mut DatasetSink<'_>,
) -> Result<((u32, f64), usize)> {
    let find = |from: usize, stop: fn(u8) -> bool| {
        text.as_bytes()[from..].iter().position(|&byte| stop(byte)).map_or(text.len(), |n| from + n)
    };
    let mut end = find(start, |byte| matches!(byte, b'\t' | b':' | b'\\'));
    let mut escaped = false;
    while text.as_bytes().get(end) == Some(&b'\\') {
        escaped = true;
        let pair = matches!(text.as_bytes().get(end + 1), Some(b':' | b'\\'));
        end = find(end + 1 + usize::from(pair), |byte| matches!(byte, b'\t' | b':' | b'\\'));
    }
    if end == start {
        return Err(line.error(start, "the name of an attribute", "an empty one"));
    }
    let name = &text[start..end];
    let name = if escaped { unescape(name, unescaped) } else { name };
    let symbol = sink.symbol(0, name);
    if text.as_bytes().get(end) != Some(&b':') {
        return Ok(((symbol, 1.0), end));
    }
    let stop = find(end + 1, |byte| byte == b'\t');
    let want = "a finite number after `:` (a colon in a name is `\\:`)";
    let value = finite(&text[end + 1..stop]);
    let value = value.ok_or_else(|| line.error(end + 1, want, format!("`{}`", &text[end + 1..stop])))?;
    Ok(((symbol, value), stop))
}

/// True if a line ends a sequence.
fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| byte == b' ')
}

/// Text of the weight in a weight line; `None` for other lines.
fn weight_of(line: &str) -> Option<&str> {
    line.strip_prefix(WEIGHT).filter(|value| !value.contains('\t'))
}

/// Replaces `\:` by a colon and `\\` by a backslash.
fn unescape<'a>(name: &'a str, buffer: &'a mut String) -> &'a str {
    if !name.contains('\\') {
        return name;
    }
    buffer.clear();
    let mut rest = name;
    while let Some(offset) = rest.find('\\') {
        let pair = matches!(rest.as_bytes().get(offset + 1), Some(b':' | b'\\'));
        let skip = usize::from(pair);
        buffer.push_str(&rest[..offset]);
        buffer.push_str(&rest[offset + skip..offset + skip + 1]);
        rest = &rest[offset + skip + 1..];
    }
    buffer.push_str(rest);
    buffer
}

/// Inverse of [`unescape`]; appends to `line`.
fn escape(name: &str, line: &mut String) {
    for c in name.chars() {
        if matches!(c, ':' | '\\') {
            line.push('\\');
        }
        line.push(c);
    }
}
