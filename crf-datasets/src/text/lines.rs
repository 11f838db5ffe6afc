use std::fmt::Display;
use std::io::BufRead;

use crf_core::{Error, Result};

use crate::formats::format::Text;

/// Reads a text line by line into one buffer and knows where it is.
pub(crate) struct Lines<'a> {
    name: &'a str,
    from: &'a mut dyn BufRead,
    buffer: Vec<u8>,
    number: usize,
    unread: bool,
    piece: bool,
}

/// One line without its end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    name: &'a str,
    number: usize,
    pub(crate) text: &'a str,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl<'a> Lines<'a> {
    pub(crate) fn new(name: &'a str, from: &'a mut dyn BufRead) -> Self {
        Lines::of(Text::new(name, from))
    }

    pub(crate) fn of(text: Text<'a>) -> Self {
        let Text { name, from, before, piece } = text;
        Lines { name, from, buffer: Vec::new(), number: before, unread: false, piece }
    }

    /// The next line, which must be UTF-8 without NUL bytes.
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
        let error = |at, want, got: String| {
            Err(Line { name: self.name, number: self.number, text: "" }.error(at, want, got))
        };
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(broken) => {
                let at = broken.valid_up_to();
                return error(at, "UTF-8", format!("byte 0x{:02x}", bytes[at]));
            }
        };
        if let Some(at) = bytes.contains(&0).then(|| bytes.iter().position(|&byte| byte == 0)).flatten() {
            return error(at, "text", "a NUL byte".to_owned());
        }
        Ok(Some(Line { name: self.name, number: self.number, text }))
    }

    /// Makes the next line the same as the last one.
    pub(crate) fn unread(&mut self) {
        self.unread = true;
    }

    /// What is wrong with a text that has no sequence.
    pub(crate) fn nothing(&self) -> Error {
        let got = if self.number == 0 { "an empty file" } else { "only blank lines" };
        self.end().error(0, "a sequence", got)
    }

    /// An error about a text that has no sequence, unless it is a piece of a file.
    pub(crate) fn no_sequence(&self) -> Result<()> {
        if self.piece { Ok(()) } else { Err(self.nothing()) }
    }

    /// Where reading has come to.
    pub(crate) fn end(&self) -> Line<'_> {
        Line { name: self.name, number: self.number.max(1), text: "" }
    }
}

impl Line<'_> {
    /// The number of the line, from 1.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// An error at byte `at`, counted from 0.
    pub(crate) fn error(&self, at: usize, want: impl Display, got: impl Display) -> Error {
        let Line { name, number, .. } = self;
        Error::data(format!("{name}:{number}:{}: expected {want}, got {got}", at + 1))
    }
}
