use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use crf_core::{Dataset, DatasetBuilder, Label, Result, Schema, Value};

use crate::text::data_dir;
use crate::text::fields::Fields;
use crate::text::lines::Lines;

/// Labelled sequence of a table with one row per position.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Recording {
    /// Name of the recording, which no other recording of the table has.
    pub(crate) name: String,
    /// Values of all channels, position by position.
    pub(crate) values: Vec<Value<'static>>, // [T × channels]
    pub(crate) labels: Vec<Label>, // [T]
}

/// Table in a file: a known header line, and recordings as adjacent rows.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    pub(crate) separator: char,
    pub(crate) header: String,
    /// Description of the file and its origin, for the message if it is missing.
    pub(crate) help: &'a str,
}

impl Table<'_> {
    /// [`Table::parse`] for a file, which is below CRF_DATA unless its path is absolute.
    pub(crate) fn read(
        &self,
        file: &Path,
        name: impl FnMut(&mut Fields<'_>) -> Result<Option<String>>,
        position: impl FnMut(&mut Fields<'_>, &mut Recording) -> Result<Label>,
    ) -> Result<Vec<Recording>> {
        let help = format!(", {} below the header line `{}`", self.help, self.header);
        data_dir::read(file, &help, |lines| self.parse(lines, name, position))
    }

    /// Reads all recordings.
    ///
    /// `name` reads the first fields of a line and returns the recording it belongs to; `None`
    /// skips the line. `position` reads the other fields, appends the values to the recording and
    /// returns the label.
    pub(crate) fn parse(
        &self,
        mut lines: Lines<'_>,
        mut name: impl FnMut(&mut Fields<'_>) -> Result<Option<String>>,
        mut position: impl FnMut(&mut Fields<'_>, &mut Recording) -> Result<Label>,
    ) -> Result<Vec<Recording>> {
        match lines.next()? {
            Some(line) if line.text == self.header => {}
            Some(line) => {
                let want = format!("the header `{}`", self.header);
                return Err(line.error(0, want, format!("`{}`", line.text)));
            }
            None => return Err(lines.no_sequence()),
        }
        let mut recordings = Vec::<Recording>::new();
        let mut seen = HashSet::new();
        while let Some(line) = lines.next()? {
            let mut fields = Fields::new(line, self.separator);
            let Some(name) = name(&mut fields)? else { continue };
            if recordings.last().is_none_or(|last| last.name != name) {
                if !seen.insert(name.clone()) {
                    let want = "the rows of a recording next to each other";
                    return Err(line.error(0, want, format!("`{name}` again")));
                }
                recordings.push(Recording { name, ..Recording::default() });
            }
            let recording = recordings.last_mut().expect("one was pushed if there was none");
            let label = position(&mut fields, recording)?;
            recording.labels.push(label);
            fields.end()?;
        }
        Ok(recordings)
    }
}

/// Recordings as chains; each position has one value per channel of the schema.
pub(crate) fn chains<'a>(
    recordings: impl IntoIterator<Item = &'a Recording>,
    schema: &Arc<Schema>,
) -> Result<Dataset> {
    let mut data = DatasetBuilder::new(schema.clone());
    for Recording { values, labels, .. } in recordings {
        for (values, &label) in values.chunks(schema.channels().len()).zip(labels) {
            data.push(values, Some(label))?;
        }
        data.end_chain()?;
    }
    Ok(data.finish())
}
