use std::io::{self, Read};

use crf_core::Result;

use crate::text::lines::{Lines, MAX_LINE};

/// Reader for the CSV parser: checked lines without blank ones, with their line numbers in the
/// file.
pub(crate) struct LineFeed<'a> {
    lines: Lines<'a>,
    separator: u8,
    buffer: Vec<u8>,
    start: usize,
    n_fed: u64,
    quoted: Option<QuotedField>, // the field in quotes that goes on in the next line
    shifts: Vec<(u64, u64)>,     // (first line fed after a gap, its line number in the file)
}

/// Field in quotes that goes over several lines.
#[derive(Debug, Clone, Copy)]
struct QuotedField {
    line: usize, // of its first quote
    n_bytes: usize,
}

impl<'a> LineFeed<'a> {
    pub(crate) fn new(lines: Lines<'a>, separator: u8) -> Self {
        let shifts = vec![(1, 1)];
        LineFeed { lines, separator, buffer: Vec::new(), start: 0, n_fed: 0, quoted: None, shifts }
    }

    /// The underlying line reader.
    pub(crate) fn lines(&self) -> &Lines<'a> {
        &self.lines
    }

    /// Line number in the file of the line that was fed as number `fed`.
    pub(crate) fn line(&self, fed: u64) -> u64 {
        let n_before = self.shifts.partition_point(|&(from, _)| from <= fed);
        let (from, line) = self.shifts[n_before.max(1) - 1];
        line + (fed - from)
    }

    /// Reads the next line into the buffer; false at the end.
    ///
    /// A quote without its end would take the rest of the file for one field.
    fn refill(&mut self) -> Result<bool> {
        self.buffer.clear();
        self.start = 0;
        let mut skipped = false;
        while let Some(line) = self.lines.next()? {
            // A blank line within quotes is part of a field.
            if line.text.is_empty() && self.quoted.is_none() {
                skipped = true;
                continue;
            }
            let n_before = self.quoted.map_or(0, |field| field.n_bytes);
            let n_bytes = n_before + line.text.len() + 1;
            let first = self.quoted.map_or(line.number(), |field| field.line);
            if self.quoted.is_some() && n_bytes > MAX_LINE {
                let want = format_args!("the end of the quote of line {first} within {MAX_LINE} bytes");
                return Err(line.error(0, want, "a longer field"));
            }
            let stays_open = ends_in_quotes(line.text, self.separator, self.quoted.is_some());
            self.quoted = stays_open.then_some(QuotedField { line: first, n_bytes });
            self.n_fed += 1;
            if skipped {
                self.shifts.push((self.n_fed, line.number() as u64));
            }
            self.buffer.extend_from_slice(line.text.as_bytes());
            self.buffer.push(b'\n');
            return Ok(true);
        }
        match self.quoted {
            Some(QuotedField { line, .. }) => {
                let want = format_args!("the end of the quote of line {line}");
                Err(self.lines.last().error(0, want, "the end of the file"))
            }
            None => Ok(false),
        }
    }
}

/// True if the end of a line is within quotes, as the CSV parser reads it: a quote opens at the
/// beginning of a field, and a quote within a field is text.
fn ends_in_quotes(line: &str, separator: u8, begins_in_quotes: bool) -> bool {
    enum At {
        Beginning,
        Text,
        Quoted,
        QuoteInQuotes,
    }
    if !begins_in_quotes && !line.contains('"') {
        return false;
    }
    let mut at = if begins_in_quotes { At::Quoted } else { At::Beginning };
    for byte in line.bytes() {
        at = match (at, byte) {
            (At::Quoted, b'"') => At::QuoteInQuotes,
            (At::Quoted, _) | (At::Beginning | At::QuoteInQuotes, b'"') => At::Quoted,
            (_, byte) if byte == separator => At::Beginning,
            _ => At::Text,
        };
    }
    matches!(at, At::Quoted)
}

impl Read for LineFeed<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.start == self.buffer.len() && !self.refill().map_err(io::Error::other)? {
            return Ok(0);
        }
        let n = to.len().min(self.buffer.len() - self.start);
        to[..n].copy_from_slice(&self.buffer[self.start..self.start + n]);
        self.start += n;
        Ok(n)
    }
}
