use std::fmt::Debug;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crf_core::{Dataset, Error, Result, Schema};
use flate2::bufread::MultiGzDecoder;

use crate::formats::chunks::ChunkBoundary;

/// How sequences stand in a text: what reads and writes them.
///
/// All formats take both kinds of line end, a byte order mark and a last line without end. Columns in
/// messages count bytes from 1, except where columns have names.
#[typetag::serde(tag = "type")]
pub trait Format: Debug + Send + Sync {
    /// Rejects settings that can never work, before any data is read.
    fn check(&self) -> Result<()>;

    /// Reads sequences.
    ///
    /// With a schema, symbols and labels are looked up in it: unknown labels become foreign ones, unknown
    /// symbols a number past the end. Sequences then come in batches of at least `batch` positions, the last
    /// one excepted. Without a schema alphabets grow with what is read, and everything comes as one dataset.
    fn read(
        &self,
        text: Text<'_>,
        schema: Option<&Arc<Schema>>,
        batch: usize,
        emit: &mut dyn FnMut(Dataset) -> Result<ControlFlow<()>>,
    ) -> Result<()>;

    /// Where a text can be cut into pieces that `read` takes each on its own.
    fn cut(&self) -> ChunkBoundary {
        ChunkBoundary::Nowhere
    }

    /// Writes sequences with their labels, so that `read` gives them back.
    ///
    /// What the format cannot hold is an error that says which format could.
    fn write(&self, data: &Dataset, to: &mut dyn Write) -> Result<()>;
}

/// A text to be read.
pub struct Text<'a> {
    /// What stands for the file in messages.
    pub(crate) name: &'a str,
    /// Where its bytes come from.
    pub(crate) from: &'a mut dyn BufRead,
    /// How many lines of the file come before it.
    pub(crate) before: usize,
    /// Whether it is a piece of a file, which may have no sequence at all.
    pub(crate) piece: bool,
}

impl<'a> Text<'a> {
    /// A whole file; `name` stands for it in messages.
    pub fn new(name: &'a str, from: &'a mut dyn BufRead) -> Self {
        Text { name, from, before: 0, piece: false }
    }
}

impl dyn Format + '_ {
    /// Reads a whole file as one dataset; its alphabets are those of the schema, or grow with what is read.
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

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Opens a file, or the standard input for `-`; gzip is recognised by its first bytes and read through.
pub fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    let failed = |source| Error::Io { path: path.to_owned(), source };
    if path.as_os_str() == "-" {
        return inflated(BufReader::with_capacity(1 << 16, io::stdin())).map_err(failed);
    }
    let file = File::open(path).map_err(failed)?;
    inflated(BufReader::with_capacity(1 << 16, file)).map_err(failed)
}

fn inflated(mut from: impl BufRead + 'static) -> io::Result<Box<dyn BufRead>> {
    if from.fill_buf()?.starts_with(&GZIP) {
        return Ok(Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(from))));
    }
    Ok(Box::new(from))
}
