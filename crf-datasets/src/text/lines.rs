use std::fmt::Display;
use std::io::{BufRead, Read as _};

use crf_core::{Error, Result, require_memory};

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

/// Byte order mark, which may begin a file.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Greatest number of bytes in a line: more than any data need, and less than fills a memory.
pub(crate) const MAX_LINE: usize = 1 << 28;

/// Number of bytes after which a line without an end in sight is looked at.
const STRIDE: usize = 1 << 20;

/// Greatest number of characters of a file that a message quotes.
const MOST_QUOTED: usize = 200;

impl<'a> Lines<'a> {
    /// The lines of a whole file; messages call it `name`.
    pub(crate) fn new(name: &'a str, from: &'a mut dyn BufRead) -> Self {
        Lines::from_text(Text::new(name, from))
    }

    pub(crate) fn from_text(text: Text<'a>) -> Self {
        let Text { name, from, lines_before, is_chunk } = text;
        Lines { name, from, buffer: Vec::new(), number: lines_before, unread: false, is_chunk }
    }

    /// The next line; `None` at the end.
    ///
    /// A line is UTF-8 without NUL bytes, and ends with LF or CR LF. A byte order mark may begin
    /// the text: further ones, as in files that were joined, would become parts of names.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>> {
        if !std::mem::take(&mut self.unread) {
            self.buffer.clear();
            if !append_line(self.name, self.number, self.from, &mut self.buffer)? {
                return Ok(None);
            }
            self.number += 1;
        }
        let line = Line { name: self.name, number: self.number, text: "" };
        let bytes = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let text = std::str::from_utf8(bytes).map_err(|invalid| {
            let offset = invalid.valid_up_to();
            line.error(offset, "UTF-8", format_args!("byte 0x{:02x}", bytes[offset]))
        })?;
        if let Some(offset) = offset_of(0, bytes) {
            return Err(nul_byte(&line, offset));
        }
        if let Some(offset) = offset_of(b'\r', bytes) {
            return Err(line.error(offset, "lines that end with LF or CR LF", "a CR within a line"));
        }
        let marked = if self.number == 1 { text.strip_prefix(BYTE_ORDER_MARK) } else { None };
        let text = marked.unwrap_or(text);
        if text.starts_with(BYTE_ORDER_MARK) {
            let got = "another one at the beginning of a line; remove it";
            return Err(line.error(0, "a byte order mark at the beginning of the file only", got));
        }
        Ok(Some(Line { text, ..line }))
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
        let got = shortened(got.to_string());
        Error::data(format!("{name}:{number}:{}: expected {want}, got {got}", offset + 1))
    }
}

/// Appends the next line, with its end, to `bytes`; false at the end. `n_before` lines of the file
/// called `name` were read before it.
///
/// The system may be out of memory long before a line ends, as when zeros are unpacked. So a line
/// is refused as soon as it holds a NUL byte, is too long, or needs more memory than there is.
pub fn append_line(name: &str, n_before: usize, from: &mut dyn BufRead, bytes: &mut Vec<u8>) -> Result<bool> {
    let line = Line { name, number: n_before + 1, text: "" };
    let start = bytes.len();
    loop {
        let before = bytes.len();
        let read = (&mut *from).take(STRIDE as u64).read_until(b'\n', bytes);
        let read = read.map_err(|source| Error::Io { path: name.into(), source })?;
        if read < STRIDE || bytes.ends_with(b"\n") {
            return Ok(bytes.len() > start);
        }
        if let Some(offset) = offset_of(0, &bytes[before..]) {
            return Err(nul_byte(&line, before - start + offset));
        }
        if bytes.len() - start >= MAX_LINE {
            let want = format_args!("the end of the line within {MAX_LINE} bytes");
            return Err(line.error(bytes.len() - start, want, "a longer line"));
        }
        // The buffer doubles when it grows.
        require_memory(2.0 * bytes.len() as f64, "the line", "break it into lines of a sequence each")
            .map_err(|error| error.at(format!("{name}:{}", line.number)))?;
    }
}

/// Text that a message quotes, of which only the beginning is shown if it is long: a field may be
/// as long as its file.
pub(crate) fn shortened(text: String) -> String {
    match text.char_indices().nth(MOST_QUOTED) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}

fn nul_byte(line: &Line<'_>, offset: usize) -> Error {
    line.error(offset, "text", "a NUL byte")
}

/// Offset of the first `byte`. Nearly always there is none, which `contains` finds out faster.
fn offset_of(byte: u8, bytes: &[u8]) -> Option<usize> {
    if bytes.contains(&byte) { bytes.iter().position(|&other| other == byte) } else { None }
}
