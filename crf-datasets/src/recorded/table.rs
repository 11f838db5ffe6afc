use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use crf_core::{Dataset, DatasetBuilder, Label, Result, Schema, Value};

use crate::text::data_dir;
use crate::text::fields::Fields;
use crate::text::lines::Lines;

/// A labelled sequence of a table with a row a position.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Recording {
    /// What tells it from the others.
    pub(crate) name: String,
    /// The values of all channels, position by position.
    pub(crate) values: Vec<Value<'static>>, // [T × channels]
    pub(crate) labels: Vec<Label>, // [T]
}

/// A file with one table: a header that is known, and recordings as rows next to each other.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    pub(crate) separator: char,
    pub(crate) header: String,
    /// What the file is and where it comes from, for the message when it is missing.
    pub(crate) help: &'a str,
}

impl Table<'_> {
    /// [`Table::parse`] for a file, which is looked for below CRF_DATA unless its path is absolute.
    pub(crate) fn read(
        &self,
        file: &Path,
        name: impl FnMut(&mut Fields<'_>) -> Result<Option<String>>,
        position: impl FnMut(&mut Fields<'_>, &mut Recording) -> Result<Label>,
    ) -> Result<Vec<Recording>> {
        let help = format!(", {} below the header line `{}`", self.help, self.header);
        data_dir::read(file, &help, |lines| self.parse(lines, name, position))
    }

    /// All recordings.
    ///
    /// Of each line `name` reads the first fields: the recording it belongs to, or none when the line is not wanted.
    /// `position` reads the others, adds the values to the recording and gives the label.
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
            None => return Err(lines.nothing()),
        }
        let (mut all, mut seen) = (Vec::<Recording>::new(), HashSet::new());
        while let Some(line) = lines.next()? {
            let mut fields = Fields::new(line, self.separator);
            let Some(name) = name(&mut fields)? else { continue };
            if all.last().is_none_or(|last| last.name != name) {
                if !seen.insert(name.clone()) {
                    let want = "the rows of a recording next to each other";
                    return Err(line.error(0, want, format!("`{name}` again")));
                }
                all.push(Recording { name, ..Recording::default() });
            }
            let recording = all.last_mut().expect("one was pushed if there was none");
            let label = position(&mut fields, recording)?;
            recording.labels.push(label);
            fields.end()?;
        }
        Ok(all)
    }
}

/// Recordings as chains, each with as many values a position as the schema has channels.
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
