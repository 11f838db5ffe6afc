//! Data files, read with their digest.

use std::io::{self, BufRead, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crf_core::{Dataset, Schema};
use crf_datasets::{Format, Text, open};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// Reads a whole file, and returns also the SHA-256 of its uncompressed bytes.
pub(crate) fn read_digest(
    format: &dyn Format,
    path: &Path,
    schema: Option<&Arc<Schema>>,
) -> Result<(Dataset, String)> {
    let mut from = Hashing { from: open(path)?, hash: Sha256::new() };
    let mut whole = None;
    let name = file_name(path);
    format.read(Text::new(&name, &mut from), schema, usize::MAX, &mut |data| {
        whole = Some(data);
        Ok(ControlFlow::Continue(()))
    })?;
    let data = whole.ok_or_else(|| crf_core::Error::data("no sequence was read").at(name))?;
    // A format may stop before the end of the file.
    io::copy(&mut from, &mut io::sink()).map_err(Error::io(path))?;
    let digest = from.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((data, digest))
}

/// The name of a file in messages.
pub(crate) fn file_name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}

/// A reader that hashes the bytes read through it.
struct Hashing {
    from: Box<dyn BufRead>,
    hash: Sha256,
}

impl Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(buffer)?;
        self.hash.update(&buffer[..n]);
        Ok(n)
    }
}

impl BufRead for Hashing {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.from.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        // The bytes are still there, so this reads nothing and cannot fail.
        if let Ok(bytes) = self.from.fill_buf() {
            self.hash.update(&bytes[..n]);
        }
        self.from.consume(n);
    }
}
