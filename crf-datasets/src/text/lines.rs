use std::fmt::Display;
use std::io::BufRead;

use crf_core::{Error, Result};

use crate::text::input::Text;

/// Line reader: checks each line, and knows its number for messages.
pub(crate) struct Lines<'a> {
    name: &'a str,
    from: &'a mut dyn BufRead,
    buffer: Vec<u8>,
    number: usize,
    unread: bool,
    is_chunk: bool,
}

/// Line without its line end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    name: &'a str,
    number: usize,
    pub(crate) text: &'a str,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl<'a> Lines<'a> {
    /// The lines of a whole file; messages call it `name`.
    pub(crate) fn new(name: &'a str, from: &'a mut dyn BufRead) -> Self {
        Lines::from_text(Text::new(name, from))
    }

    pub(crate) fn from_text(text: Text<'a>) -> Self {
        let Text { name, from, lines_before, is_chunk } = text;
        Lines { name, from, buffer: Vec::new(), number: lines_before, unread: false, is_chunk }
    }

    /// The next line, which must be UTF-8 without NUL bytes; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>> {
        if !std::mem::take(&mut self.unread) {
            self.buffer.clear();
            let read = self.from.read_until(b'\n', &mut self.buffer);
            if read.map_err(|source| Error::Io { path: self.name.into(), source })? == 0 {
                return Ok(None);
            }
            self.number += 1;
        }
        let mut bytes = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        if self.number == 1 {
            bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        }
        let error = |offset, want, got: String| {
            Err(Line { name: self.name, number: self.number, text: "" }.error(offset, want, got))
        };
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(invalid) => {
                let offset = invalid.valid_up_to();
                return error(offset, "UTF-8", format!("byte 0x{:02x}", bytes[offset]));
            }
        };
        if let Some(offset) = bytes.contains(&0).then(|| bytes.iter().position(|&byte| byte == 0)).flatten() {
            return error(offset, "text", "a NUL byte".to_owned());
        }
        Ok(Some(Line { name: self.name, number: self.number, text }))
    }

    /// Makes `next` return the last line again.
    pub(crate) fn unread(&mut self) {
        self.unread = true;
    }

    /// Error about a text without any sequence.
    pub(crate) fn no_sequence(&self) -> Error {
        let got = if self.number == 0 { "an empty file" } else { "only blank lines" };
        self.last().error(0, "a sequence", got)
    }

    /// Refuses a text without any sequence, unless it is a chunk of a file.
    pub(crate) fn require_sequence(&self) -> Result<()> {
        if self.is_chunk { Ok(()) } else { Err(self.no_sequence()) }
    }

    /// The line that was read last, for messages about the end of the text.
    pub(crate) fn last(&self) -> Line<'_> {
        Line { name: self.name, number: self.number.max(1), text: "" }
    }
}

impl Line<'_> {
    /// Line number, from 1.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Error at a byte offset, counted from 0.
    pub(crate) fn error(&self, offset: usize, want: impl Display, got: impl Display) -> Error {
        let Line { name, number, .. } = self;
        Error::data(format!("{name}:{number}:{}: expected {want}, got {got}", offset + 1))
    }
}
