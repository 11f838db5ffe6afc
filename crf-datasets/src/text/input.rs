use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crf_core::{Error, Result};
use flate2::bufread::MultiGzDecoder;

/// Text to be read: a whole file, or a chunk of one.
pub struct Text<'a> {
    /// Name of the file in messages.
    pub(crate) name: &'a str,
    /// Source of the bytes.
    pub(crate) from: &'a mut dyn BufRead,
    /// Number of lines of the file before this text.
    pub(crate) lines_before: usize,
    /// True for a chunk of a file, which may hold no sequence at all.
    pub(crate) is_chunk: bool,
}

impl<'a> Text<'a> {
    /// A whole file; messages call it `name`.
    pub fn new(name: &'a str, from: &'a mut dyn BufRead) -> Self {
        Text { name, from, lines_before: 0, is_chunk: false }
    }
}

/// First bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Size of read buffers in bytes.
const BUFFER: usize = 1 << 16;

/// Opens a file, or the standard input for `-`; gzip is recognised by its first bytes and
/// decompressed.
pub fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    let failed = |source| Error::Io { path: path.to_owned(), source };
    if path.as_os_str() == "-" {
        return decompressed(BufReader::with_capacity(BUFFER, io::stdin())).map_err(failed);
    }
    let file = File::open(path).map_err(failed)?;
    decompressed(BufReader::with_capacity(BUFFER, file)).map_err(failed)
}

/// Decompresses gzip; other bytes pass unchanged.
fn decompressed(mut from: impl BufRead + 'static) -> io::Result<Box<dyn BufRead>> {
    if from.fill_buf()?.starts_with(&GZIP) {
        return Ok(Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(from))));
    }
    Ok(Box::new(from))
}
