use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{Channel, ChannelKind, Dataset, Result, Schema, Value, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::formats::checked_writer::{CheckedWriter, write_error};
use crate::formats::chunks::ChunkBoundary;
use crate::formats::dataset_sink::DatasetSink;
use crate::formats::format::Format;
use crate::formats::label_name::LABEL;
use crate::text::input::Text;
use crate::text::lines::{Line, Lines};

/// Columns of symbols with one line per position, as in the CoNLL shared tasks.
///
/// A blank line ends a sequence. Every line has the same number of columns. Each column is a
/// channel of symbols, except the last one if it is the label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Conll {
    /// Names of all columns except the label's. If empty, they are those of the model, or without a
    /// model `column1`, `column2`, …, as many as the first line has.
    pub columns: Vec<String>,
    /// True if the last column is the label.
    pub label: bool,
    /// Name in the label column that stands for an unknown label. If empty, only TAB-separated
    /// files can hold unknown labels.
    pub unknown: String,
    /// Separator between columns: `whitespace` or `tab`.
    pub separator: Separator,
    /// Prefixes of lines that are read as blank lines.
    pub skip: Vec<String>,
}

/// Separator between the columns of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Separator {
    /// Any number of spaces and TABs.
    Whitespace,
    /// Exactly one TAB, so that columns may be empty or hold spaces.
    Tab,
}

impl Default for Conll {
    fn default() -> Self {
        Conll {
            columns: Vec::new(),
            label: true,
            unknown: String::new(),
            separator: Separator::Whitespace,
            skip: vec!["-DOCSTART-".to_owned()],
        }
    }
}

crf_core::plugin!("format", Conll, "conll", example = r#"columns = ["word", "pos"]"#);

/// Characters that no name can hold; with the separator `tab`, a space is allowed.
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
        let mut lines = Lines::from_text(text);
        let (channels, first_line) = loop {
            let line = lines.next()?;
            match line.filter(|line| !self.is_blank(line.text)) {
                Some(line) => break (self.channels(&line, schema)?, line.number()),
                None if line.is_some() => {}
                None => return lines.require_sequence(),
            }
        };
        lines.unread();
        let names: Vec<String> = channels.iter().map(|channel| channel.name.clone()).collect();
        let n_channels = channels.len();
        let n_columns = n_channels + usize::from(self.label);
        let mut sink = DatasetSink::new(name, channels, schema, batch, emit)?;
        let mut values = Vec::with_capacity(n_channels);
        while let Some(line) = lines.next()? {
            if self.is_blank(line.text) {
                if sink.n_open() > 0 && sink.end_chain(1.0)?.is_break() {
                    return Ok(());
                }
                continue;
            }
            values.clear();
            let mut n_fields = 0;
            let mut label = None;
            for (offset, field) in self.fields(line.text) {
                if n_fields < n_channels {
                    values.push(Value::Symbol(sink.symbol(n_fields, field)));
                } else if n_fields < n_columns && field != self.unknown {
                    let known = sink.label(field);
                    label = Some(known.ok_or_else(|| line.error(offset, LABEL, format_args!("`{field}`")))?);
                }
                n_fields += 1;
            }
            if n_fields != n_columns {
                let offset =
                    self.fields(line.text).nth(n_columns).map_or(line.text.len(), |(offset, _)| offset);
                let want = if self.columns.is_empty() && schema.is_none() {
                    format!("{n_columns} columns as in line {first_line}")
                } else {
                    format!(
                        "{n_columns} columns ({}{})",
                        names.join(" "),
                        if self.label { " label" } else { "" }
                    )
                };
                return Err(line.error(offset, want, n_fields));
            }
            sink.push(&values, label)?;
        }
        if sink.n_open() > 0 {
            let _ = sink.end_chain(1.0)?;
        }
        sink.finish(|| lines.require_sequence())
    }

    fn chunk_boundary(&self) -> ChunkBoundary {
        ChunkBoundary::AfterBlankLines
    }

    fn without_labels(&self) -> Option<(&'static str, Box<dyn Format>)> {
        let unlabelled = || Box::new(Conll { label: false, ..self.clone() }) as Box<dyn Format>;
        self.label.then(|| ("format.label=false", unlabelled()))
    }

    fn write(&self, data: &Dataset, to: &mut dyn Write) -> Result<()> {
        let writer = CheckedWriter::chains("conll", data)?;
        writer.plain_rows()?;
        let channels = data.schema().channels();
        if let Some(channel) = channels.iter().find(|c| !matches!(c.kind, ChannelKind::Symbol(_))) {
            return Err(writer.cannot_hold(channel));
        }
        let (separator, forbidden) = match self.separator {
            Separator::Whitespace => (' ', SEPARATORS.as_slice()),
            Separator::Tab => ('\t', &SEPARATORS[1..]),
        };
        let mut line = String::new();
        for i in 0..data.len() {
            let x = data.sequence(i);
            for t in 0..x.len() {
                line.clear();
                let add = |name: &str, line: &mut String| {
                    writer.refuse_chars(i, t, name, forbidden, "; `csv` can")?;
                    if name.is_empty() && self.separator == Separator::Whitespace {
                        return Err(writer.error_at(
                            i,
                            t,
                            "hold an empty name between spaces; use separator = \"tab\"",
                        ));
                    }
                    line.push_str(name);
                    line.push(separator);
                    Ok(())
                };
                for c in 0..channels.len() {
                    add(writer.symbol(i, t, c, x.symbol(c)[t])?, &mut line)?;
                }
                if self.label {
                    match writer.label(i, t)? {
                        Some(label) if label == self.unknown => {
                            let what = format!("hold the label {label:?}, which is that of `unknown`");
                            return Err(writer.error_at(i, t, what));
                        }
                        None if self.unknown.is_empty() && self.separator == Separator::Whitespace => {
                            let what = "hold an unknown label; set `unknown` to a label that stands for it";
                            return Err(writer.error_at(i, t, what));
                        }
                        label => add(label.unwrap_or(&self.unknown), &mut line)?,
                    }
                }
                line.pop();
                if self.is_blank(&line) {
                    return Err(writer.error_at(
                        i,
                        t,
                        format!("hold the line {line:?}, which would be read as blank"),
                    ));
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

impl Conll {
    /// True if a line ends a sequence.
    fn is_blank(&self, line: &str) -> bool {
        let is_space = |c: char| c == ' ' || (c == '\t' && self.separator == Separator::Whitespace);
        line.chars().all(is_space) || self.skip.iter().any(|skip| line.starts_with(skip))
    }

    /// Columns of a line, each with its byte offset.
    fn fields<'a>(&self, line: &'a str) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        let tab = self.separator == Separator::Tab;
        let fields = line.split(move |c| c == '\t' || (c == ' ' && !tab));
        let start = line.as_ptr() as usize;
        let fields = fields.filter(move |field| tab || !field.is_empty());
        fields.map(move |field| (field.as_ptr() as usize - start, field))
    }

    /// Channels of a file; `line` is its first line that is not blank.
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
