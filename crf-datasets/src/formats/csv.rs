mod line_feed;

use std::collections::HashSet;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{Channel, ChannelKind, Dataset, Error, Result, Schema, Value, require};
use csv::{ByteRecord, QuoteStyle, ReaderBuilder, WriterBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::formats::checked_writer::{CheckedWriter, write_error};
use crate::formats::csv::line_feed::LineFeed;
use crate::formats::dataset_sink::DatasetSink;
use crate::formats::format::Format;
use crate::formats::label_name::LABEL;
use crate::text::fields::finite;
use crate::text::input::Text;
use crate::text::lines::{BYTE_ORDER_MARK, Lines, shortened};

/// Table with a header line and one row per position: CSV, or TSV with `separator = "\t"`.
///
/// Every column is a channel of numbers unless a setting says otherwise. Fields may be in double
/// quotes. With a model, columns are found by their names and may be in any order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Csv {
    /// Character between fields.
    pub separator: char,
    /// Column that identifies the sequence: adjacent rows with the same value are one sequence. If
    /// omitted, the whole table is one sequence.
    pub sequence: Option<String>,
    /// Column of labels, in which an empty field is an unknown label. If empty, the table has no
    /// labels.
    pub label: String,
    /// Columns of symbols.
    pub symbolic: Vec<String>,
    /// Columns to ignore.
    pub ignore: Vec<String>,
}

impl Default for Csv {
    fn default() -> Self {
        Csv {
            separator: ',',
            sequence: None,
            label: "label".to_owned(),
            symbolic: Vec::new(),
            ignore: Vec::new(),
        }
    }
}

crf_core::plugin!(
    "format",
    Csv,
    "csv",
    example = r#"
sequence = "day"
symbolic = ["weather"]
"#
);

#[typetag::serde(name = "csv")]
impl Format for Csv {
    fn check(&self) -> Result<()> {
        let separator = self.separator;
        let good = separator.is_ascii() && !matches!(separator, '"' | '\n' | '\r' | '\0');
        require(good, "separator", "an ASCII character other than a quote or a line end", separator)?;
        let special = [self.sequence.as_deref(), Some(self.label.as_str()).filter(|name| !name.is_empty())];
        let listed = self.symbolic.iter().chain(&self.ignore).map(String::as_str);
        let mut seen = HashSet::new();
        for name in special.into_iter().flatten().chain(listed) {
            let want = "different from `sequence`, `label` and each other";
            require(seen.insert(name), "symbolic` and `ignore", want, format!("`{name}` twice"))?;
        }
        Ok(())
    }

    fn read(
        &self,
        text: Text<'_>,
        schema: Option<&Arc<Schema>>,
        batch: usize,
        emit: &mut dyn FnMut(Dataset) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let name = text.name;
        let feed = LineFeed::new(Lines::from_text(text), self.separator as u8);
        let mut table = ReaderBuilder::new()
            .delimiter(self.separator as u8)
            .has_headers(false)
            .flexible(true)
            .from_reader(feed);
        let mut row = ByteRecord::new();
        if !table.read_byte_record(&mut row).map_err(table_error)? {
            return table.get_ref().lines().require_sequence();
        }
        let layout = self.layout(name, &row, schema)?;
        let mut sink = DatasetSink::new(name, layout.channels(), schema, batch, emit)?;
        let mut values = Vec::new();
        let mut sequence = None;
        let mut done = HashSet::new();
        while table.read_byte_record(&mut row).map_err(table_error)? {
            let line = table.get_ref().line(row.position().map_or(1, |position| position.line()));
            let wrong = |column: &str, want: &str, got: String| {
                Err(Error::data(format!("{name}:{line}:{column}: expected {want}, got {got}")))
            };
            let n_columns = layout.header.len();
            if row.len() != n_columns {
                return match layout.header.get(row.len()) {
                    Some(column) => wrong(column, "a field", "the end of the line".to_owned()),
                    None => wrong(
                        &(n_columns + 1).to_string(),
                        &format!("{n_columns} fields as in the header"),
                        row.len().to_string(),
                    ),
                };
            }
            // Lines are checked to be UTF-8 and separators are ASCII, so fields are UTF-8.
            let field = |c: usize| std::str::from_utf8(&row[c]).unwrap_or_default();
            if let Some(c) = layout.sequence
                && sequence.as_deref() != Some(field(c))
            {
                if let Some(previous) = sequence.replace(field(c).to_owned()) {
                    done.insert(previous);
                    if sink.end_chain(1.0)?.is_break() {
                        return Ok(());
                    }
                }
                if done.contains(field(c)) {
                    let want = "the rows of a sequence next to each other";
                    return wrong(
                        &layout.header[c],
                        want,
                        format!("`{}` again", shortened(field(c).to_owned())),
                    );
                }
            }
            values.clear();
            for (k, column) in layout.columns.iter().enumerate() {
                let text = field(column.index);
                values.push(if column.symbolic {
                    Value::Symbol(sink.symbol(k, text))
                } else {
                    let Some(number) = finite(text.trim()) else {
                        let name = &layout.header[column.index];
                        let text = shortened(text.to_owned());
                        let got =
                            format!("`{text}`; list `{name}` under `symbolic` or `ignore` if it holds none");
                        return wrong(name, "a finite number", got);
                    };
                    Value::Real(number)
                });
            }
            let label = layout.label.map(field).filter(|label| !label.is_empty());
            let label = match (label, layout.label) {
                (Some(label), Some(c)) => match sink.label(label) {
                    None => {
                        return wrong(&layout.header[c], LABEL, format!("`{}`", shortened(label.to_owned())));
                    }
                    known => known,
                },
                _ => None,
            };
            sink.push(&values, label)?;
        }
        if sink.n_open() > 0 {
            let _ = sink.end_chain(1.0)?;
        }
        let lines = table.get_ref().lines();
        sink.finish(|| Err(lines.last().error(0, "a row below the header", "the end of the file")))
    }

    fn without_labels(&self) -> Option<(&'static str, Box<dyn Format>)> {
        let unlabelled = || Box::new(Csv { label: String::new(), ..self.clone() }) as Box<dyn Format>;
        (!self.label.is_empty()).then(|| ("format.label=\"\"", unlabelled()))
    }

    fn write(&self, data: &Dataset, to: &mut dyn Write) -> Result<()> {
        let writer = CheckedWriter::chains("csv", data)?;
        writer.plain_rows()?;
        let channels = data.schema().channels();
        if let Some(channel) = channels.iter().find(|c| matches!(c.kind, ChannelKind::Bag(_))) {
            return Err(writer.cannot_hold(channel));
        }
        if self.sequence.is_none() && data.len() > 1 {
            return Err(writer.cannot(&format!("hold {} sequences without a column `sequence`", data.len())));
        }
        let label = Some(&self.label).filter(|name| !name.is_empty());
        let header: Vec<&String> =
            self.sequence.iter().chain(channels.iter().map(|channel| &channel.name)).chain(label).collect();
        for (c, name) in header.iter().enumerate() {
            let is_kept = is_column_name(name) && !header[..c].contains(name) && !self.ignore.contains(name);
            if !is_kept || breaks_lines(name, c == 0) {
                return Err(
                    writer.cannot(&format!("hold a column {name:?} here, which would not be read back"))
                );
            }
        }
        let failed = |error: csv::Error| write_error(error.into());
        let mut table = WriterBuilder::new()
            .delimiter(self.separator as u8)
            .quote_style(QuoteStyle::Necessary)
            .from_writer(to);
        table.write_record(header).map_err(failed)?;
        for i in 0..data.len() {
            let x = data.sequence(i);
            for t in 0..x.len() {
                if self.sequence.is_some() {
                    table.write_field((i + 1).to_string()).map_err(failed)?;
                }
                for (c, channel) in channels.iter().enumerate() {
                    if let ChannelKind::Real = channel.kind {
                        table.write_field(format!("{:?}", x.real(c)[t])).map_err(failed)?;
                    } else {
                        let symbol = writer.symbol(i, t, c, x.symbol(c)[t])?;
                        if breaks_lines(symbol, c == 0 && self.sequence.is_none()) {
                            return Err(writer.error_at(i, t, format!("hold the symbol {symbol:?} here")));
                        }
                        table.write_field(symbol).map_err(failed)?;
                    }
                }
                if label.is_some() {
                    table.write_field(writer.label_or_empty(i, t)?).map_err(failed)?;
                }
                table.write_record(None::<&[u8]>).map_err(failed)?;
            }
        }
        table.flush().map_err(write_error)
    }
}

/// True if the header may hold the name, which is read without blanks around it.
fn is_column_name(name: &str) -> bool {
    !name.is_empty() && name.trim() == name
}

/// True if a field holds what no line can; `is_first` if a line may begin with it.
fn breaks_lines(field: &str, is_first: bool) -> bool {
    let is_marked = |line: &str| line.starts_with(BYTE_ORDER_MARK);
    field.contains(['\r', '\0']) || field.split('\n').skip(usize::from(!is_first)).any(is_marked)
}

/// Roles of the columns of a table, by index.
#[derive(Debug)]
struct Layout {
    header: Vec<String>,
    columns: Vec<Column>, // [channels]
    sequence: Option<usize>,
    label: Option<usize>,
}

/// Column that is a channel.
#[derive(Debug)]
struct Column {
    name: String,
    index: usize,
    symbolic: bool,
}

impl Layout {
    fn channels(&self) -> Vec<Channel> {
        let kind = |column: &Column| match column.symbolic {
            true => ChannelKind::Symbol(Default::default()),
            false => ChannelKind::Real,
        };
        self.columns.iter().map(|column| Channel { name: column.name.clone(), kind: kind(column) }).collect()
    }
}

impl Csv {
    /// Assigns roles to the columns of the header line.
    fn layout(&self, name: &str, header: &ByteRecord, schema: Option<&Arc<Schema>>) -> Result<Layout> {
        let header: Vec<String> =
            header.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect();
        for (c, column) in header.iter().enumerate() {
            if header[..c].contains(column) {
                let message = format!("{name}:1:{column}: expected names that differ, got this one twice");
                return Err(Error::data(message));
            }
        }
        let find = |column: &str| {
            let names = header.iter().map(String::as_str);
            let unknown = || Error::unknown("column", column, names.clone()).at(format!("{name}:1"));
            names.clone().position(|other| other == column).ok_or_else(unknown)
        };
        let sequence = self.sequence.as_deref().map(find).transpose()?;
        let label = Some(self.label.as_str()).filter(|label| !label.is_empty()).map(find).transpose()?;
        self.symbolic.iter().try_for_each(|column| find(column).map(drop))?;
        let is_channel = |&c: &usize| {
            Some(c) != sequence && Some(c) != label && !self.ignore.iter().any(|other| *other == header[c])
        };
        let free: Vec<usize> = (0..header.len()).filter(is_channel).collect();
        if let Some(&c) = free.iter().find(|&&c| !is_column_name(&header[c])) {
            let message = format!("{name}:1: expected a name for column {}, got none", c + 1);
            return Err(Error::data(message + "; give it one, or list \"\" under `ignore`"));
        }
        let order = match schema {
            None => free,
            Some(schema) => {
                let known = schema.channels();
                if let Some(&c) = free.iter().find(|&&c| !known.iter().any(|other| other.name == header[c])) {
                    let names = known.iter().map(|channel| format!("`{}`", channel.name)).collect::<Vec<_>>();
                    let (column, names) = (&header[c], names.join(", "));
                    return Err(Error::data(format!(
                        "{name}:1:{column}: expected the columns {names}, got another one; list it under \
                         `ignore`"
                    )));
                }
                known.iter().map(|channel| find(&channel.name)).collect::<Result<_>>()?
            }
        };
        let column = |index: usize| {
            let name = header[index].clone();
            Column { symbolic: self.symbolic.contains(&name), name, index }
        };
        let columns = order.into_iter().map(column).collect();
        Ok(Layout { columns, sequence, label, header })
    }
}

/// Error of the CSV parser, or one of ours that travelled through it.
fn table_error(error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => match error.downcast::<Error>() {
            Ok(error) => error,
            Err(source) => Error::Io { path: "table".into(), source },
        },
        kind => Error::data(format!("{kind:?}")),
    }
}
