use std::fmt::Debug;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crf_core::{Dataset, Error, Result, Schema};

use crate::formats::chunks::ChunkBoundary;
use crate::text::input::{Text, open};

/// File format of labelled sequences: reads a text into datasets, and writes a dataset as text.
///
/// All formats take both kinds of line end, a byte order mark and a last line without end. None
/// takes what would silently become part of a name: NUL bytes, lone carriage returns and further
/// byte order marks. A line has at most 256 MiB. Columns in messages count bytes from 1, except
/// where columns have names.
///
/// A label takes one line, is not empty and has no blanks around it, so that what is labelled has
/// a line for each position.
#[typetag::serde(tag = "type")]
pub trait Format: Debug + Send + Sync {
    /// Rejects settings that can never work, before any data is read.
    fn check(&self) -> Result<()>;

    /// Reads sequences and passes them to `emit` as datasets.
    ///
    /// With a schema, symbols and labels are looked up in it: unknown labels become foreign ones,
    /// unknown symbols an index past the end. Sequences then come in batches of at least `batch`
    /// positions, except the last one. Without a schema alphabets grow with what is read, and
    /// everything comes as one dataset.
    fn read(
        &self,
        text: Text<'_>,
        schema: Option<&Arc<Schema>>,
        batch: usize,
        emit: &mut dyn FnMut(Dataset) -> Result<ControlFlow<()>>,
    ) -> Result<()>;

    /// Boundary at which a text can be split into chunks that `read` takes independently.
    fn chunk_boundary(&self) -> ChunkBoundary {
        ChunkBoundary::Nowhere
    }

    /// The same format for data without labels, and the setting that asks for it as a user would
    /// type it.
    ///
    /// `None` if the format, with its present settings, reads data without labels.
    fn without_labels(&self) -> Option<(&'static str, Box<dyn Format>)> {
        None
    }

    /// Writes sequences with their labels, unless a setting says that there are none, so that
    /// `read` gives them back.
    ///
    /// Data that the format cannot hold are an error, which names a format that can.
    fn write(&self, data: &Dataset, to: &mut dyn Write) -> Result<()>;
}

impl dyn Format + '_ {
    /// Reads a whole file as one dataset; its alphabets are those of the schema, or grow with what
    /// is read.
    pub fn read_file(&self, path: &Path, schema: Option<&Arc<Schema>>) -> Result<Dataset> {
        let mut all = None;
        let name = path.display().to_string();
        self.read(Text::new(&name, &mut *open(path)?), schema, usize::MAX, &mut |data| {
            all = Some(data);
            Ok(ControlFlow::Continue(()))
        })?;
        all.ok_or_else(|| Error::data(format!("{}: no sequence was read", path.display())))
    }
}
