use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{Channel, ChannelKind, Dataset, Result, Schema, Value, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::formats::checked_writer::{CheckedWriter, unwritten};
use crate::formats::chunks::ChunkBoundary;
use crate::formats::dataset_sink::DatasetSink;
use crate::formats::format::{Format, Text};
use crate::text::lines::{Line, Lines};

/// Columns of symbols, a line a position, as in the CoNLL shared tasks.
///
/// A blank line ends a sequence. Every line has the same number of columns, each a symbolic channel, but for
/// the last one when it is the label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Conll {
    /// The names of all columns but the label's. When empty, they are those of the model, or else `column1`,
    /// `column2` and so on, as many as the first line has.
    pub columns: Vec<String>,
    /// Whether the last column is the label.
    pub label: bool,
    /// The label that stands for an unknown one; when empty, only TAB-separated files can hold unknown
    /// labels.
    pub unknown: String,
    /// What stands between columns.
    pub separator: Between,
    /// Lines that begin with one of these are read as blank ones.
    pub skip: Vec<String>,
}

/// What stands between columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Between {
    /// Any number of spaces and TABs.
    Whitespace,
    /// One TAB, so that columns may be empty or hold spaces.
    Tab,
}

impl Default for Conll {
    fn default() -> Self {
        Conll {
            columns: Vec::new(),
            label: true,
            unknown: String::new(),
            separator: Between::Whitespace,
            skip: vec!["-DOCSTART-".to_owned()],
        }
    }
}

crf_core::plugin!("format", Conll, "conll", example = r#"columns = ["word", "pos"]"#);

/// What no name can hold; all but the first also when one TAB stands between columns.
const SEPARATORS: [char; 5] = [' ', '\t', '\n', '\r', '\0'];

#[typetag::serde(name = "conll")]
impl Format for Conll {
    fn check(&self) -> Result<()> {
        for (k, name) in self.columns.iter().enumerate() {
            let once = !name.is_empty() && !self.columns[..k].contains(name);
            require(once, "columns", "names that differ", format!("{:?}", self.columns))?;
        }
        require(!self.skip.iter().any(String::is_empty), "skip", "beginnings of lines", "an empty one")
    }

    fn read(
        &self,
        text: Text<'_>,
        schema: Option<&Arc<Schema>>,
        batch: usize,
        emit: &mut dyn FnMut(Dataset) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let name = text.name;
        let mut lines = Lines::of(text);
        let (channels, first) = loop {
            let line = lines.next()?;
            match line.filter(|line| !self.is_blank(line.text)) {
                Some(line) => break (self.channels(&line, schema)?, line.number()),
                None if line.is_some() => {}
                None => return lines.no_sequence(),
            }
        };
        lines.unread();
        let names: Vec<String> = channels.iter().map(|channel| channel.name.clone()).collect();
        let (n_channels, width) = (channels.len(), channels.len() + usize::from(self.label));
        let mut sink = DatasetSink::new(name, channels, schema, batch, emit)?;
        let mut values = Vec::with_capacity(n_channels);
        while let Some(line) = lines.next()? {
            if self.is_blank(line.text) {
                if sink.open() > 0 && sink.end(1.0)?.is_break() {
                    return Ok(());
                }
                continue;
            }
            values.clear();
            let (mut n_fields, mut label) = (0, None);
            for (_, field) in self.fields(line.text) {
                if n_fields < n_channels {
                    values.push(Value::Symbol(sink.symbol(n_fields, field)));
                } else if n_fields < width && field != self.unknown {
                    label = Some(sink.label(field));
                }
                n_fields += 1;
            }
            if n_fields != width {
                let at = self.fields(line.text).nth(width).map_or(line.text.len(), |(at, _)| at);
                let want = if self.columns.is_empty() && schema.is_none() {
                    format!("{width} columns as in line {first}")
                } else {
                    format!("{width} columns ({}{})", names.join(" "), if self.label { " label" } else { "" })
                };
                return Err(line.error(at, want, n_fields));
            }
            sink.push(&values, label)?;
        }
        if sink.open() > 0 {
            let _ = sink.end(1.0)?;
        }
        sink.finish(|| lines.no_sequence())
    }

    fn cut(&self) -> ChunkBoundary {
        ChunkBoundary::AfterBlankLines
    }

    fn write(&self, data: &Dataset, to: &mut dyn Write) -> Result<()> {
        let outlet = CheckedWriter::chains("conll", data)?;
        outlet.plain_rows()?;
        let channels = data.schema().channels();
        if let Some(channel) = channels.iter().find(|c| !matches!(c.kind, ChannelKind::Symbol(_))) {
            return Err(outlet.cannot_hold(channel));
        }
        let (between, separators) = match self.separator {
            Between::Whitespace => (' ', SEPARATORS.as_slice()),
            Between::Tab => ('\t', &SEPARATORS[1..]),
        };
        let mut line = String::new();
        for i in 0..data.len() {
            let x = data.sequence(i);
            for t in 0..x.len() {
                line.clear();
                let add = |name: &str, line: &mut String| {
                    outlet.free_of(i, t, name, separators, "; `csv` can")?;
                    if name.is_empty() && self.separator == Between::Whitespace {
                        return Err(outlet.at(
                            i,
                            t,
                            "hold an empty name between spaces; use separator = \"tab\"",
                        ));
                    }
                    line.push_str(name);
                    line.push(between);
                    Ok(())
                };
                for c in 0..channels.len() {
                    add(outlet.symbol(i, t, c, x.symbol(c)[t])?, &mut line)?;
                }
                if self.label {
                    match outlet.label(i, t) {
                        Some(label) if label == self.unknown => {
                            let what = format!("hold the label {label:?}, which is that of `unknown`");
                            return Err(outlet.at(i, t, what));
                        }
                        None if self.unknown.is_empty() && self.separator == Between::Whitespace => {
                            let what = "hold an unknown label; set `unknown` to a label that stands for it";
                            return Err(outlet.at(i, t, what));
                        }
                        label => add(label.unwrap_or(&self.unknown), &mut line)?,
                    }
                }
                line.pop();
                if self.is_blank(&line) {
                    return Err(outlet.at(
                        i,
                        t,
                        format!("hold the line {line:?}, which would be read as blank"),
                    ));
                }
                line.push('\n');
                to.write_all(line.as_bytes()).map_err(unwritten)?;
            }
            to.write_all(b"\n").map_err(unwritten)?;
        }
        Ok(())
    }
}

impl Conll {
    /// Whether a line ends a sequence.
    fn is_blank(&self, line: &str) -> bool {
        let space = |c: char| c == ' ' || (c == '\t' && self.separator == Between::Whitespace);
        line.chars().all(space) || self.skip.iter().any(|skip| line.starts_with(skip))
    }

    /// The columns of a line, each with the byte where it begins.
    fn fields<'a>(&self, line: &'a str) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        let tab = self.separator == Between::Tab;
        let fields = line.split(move |c| c == '\t' || (c == ' ' && !tab));
        let start = line.as_ptr() as usize;
        let fields = fields.filter(move |field| tab || !field.is_empty());
        fields.map(move |field| (field.as_ptr() as usize - start, field))
    }

    /// The channels of a file, of which `line` is the first one that is not blank.
    fn channels(&self, line: &Line<'_>, schema: Option<&Arc<Schema>>) -> Result<Vec<Channel>> {
        let names: Vec<String> = match (self.columns.as_slice(), schema) {
            ([], Some(schema)) => schema.channels().iter().map(|channel| channel.name.clone()).collect(),
            ([], None) => {
                let n_fields = self.fields(line.text).count();
                if self.label && n_fields == 1 {
                    let want = "at least 2 columns, of which the last is the label";
                    return Err(line.error(line.text.len(), want, n_fields));
                }
                (0..n_fields - usize::from(self.label)).map(|k| format!("column{}", k + 1)).collect()
            }
            (names, _) => names.to_vec(),
        };
        let channel = |name| Channel { name, kind: ChannelKind::Symbol(Default::default()) };
        Ok(names.into_iter().map(channel).collect())
    }
}
