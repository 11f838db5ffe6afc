use std::io::{self, Read};

use crf_core::Result;

use crate::text::lines::Lines;

/// Reader for the CSV parser: checked lines without blank ones, with their line numbers in the
/// file.
pub(crate) struct LineFeed<'a> {
    lines: Lines<'a>,
    buffer: Vec<u8>,
    start: usize,
    n_fed: u64,
    in_quotes: bool,
    shifts: Vec<(u64, u64)>, // (first line fed after a gap, its line number in the file)
}

impl<'a> LineFeed<'a> {
    pub(crate) fn new(lines: Lines<'a>) -> Self {
        LineFeed { lines, buffer: Vec::new(), start: 0, n_fed: 0, in_quotes: false, shifts: vec![(1, 1)] }
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
    fn refill(&mut self) -> Result<bool> {
        self.buffer.clear();
        self.start = 0;
        let mut skipped = false;
        while let Some(line) = self.lines.next()? {
            // A blank line within quotes is part of a field.
            if line.text.is_empty() && !self.in_quotes {
                skipped = true;
                continue;
            }
            self.in_quotes ^= line.text.bytes().filter(|&byte| byte == b'"').count() % 2 == 1;
            self.n_fed += 1;
            if skipped {
                self.shifts.push((self.n_fed, line.number() as u64));
            }
            self.buffer.extend_from_slice(line.text.as_bytes());
            self.buffer.push(b'\n');
            return Ok(true);
        }
        Ok(false)
    }
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
