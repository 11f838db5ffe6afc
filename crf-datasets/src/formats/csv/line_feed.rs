use std::io::{self, Read};

use crf_core::Result;

use crate::text::lines::Lines;

/// Gives the parser checked lines without blank ones, and knows which line was which.
pub(crate) struct LineFeed<'a> {
    lines: Lines<'a>,
    ready: Vec<u8>,
    start: usize,
    fed: u64,
    quoted: bool,
    shifts: Vec<(u64, u64)>, // from this line that was fed on, the line in the file
}

impl<'a> LineFeed<'a> {
    pub(crate) fn new(lines: Lines<'a>) -> Self {
        LineFeed { lines, ready: Vec::new(), start: 0, fed: 0, quoted: false, shifts: vec![(1, 1)] }
    }

    /// Where the lines come from.
    pub(crate) fn lines(&self) -> &Lines<'a> {
        &self.lines
    }

    /// Which line of the file was fed as line `fed`.
    pub(crate) fn line(&self, fed: u64) -> u64 {
        let after = self.shifts.partition_point(|&(from, _)| from <= fed);
        let (from, line) = self.shifts[after.max(1) - 1];
        line + (fed - from)
    }

    /// Makes the next line ready; false at the end.
    fn refill(&mut self) -> Result<bool> {
        self.ready.clear();
        self.start = 0;
        let mut skipped = false;
        while let Some(line) = self.lines.next()? {
            // A blank line within quotes is part of a field.
            if line.text.is_empty() && !self.quoted {
                skipped = true;
                continue;
            }
            self.quoted ^= line.text.bytes().filter(|&byte| byte == b'"').count() % 2 == 1;
            self.fed += 1;
            if skipped {
                self.shifts.push((self.fed, line.number() as u64));
            }
            self.ready.extend_from_slice(line.text.as_bytes());
            self.ready.push(b'\n');
            return Ok(true);
        }
        Ok(false)
    }
}

impl Read for LineFeed<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.start == self.ready.len() && !self.refill().map_err(io::Error::other)? {
            return Ok(0);
        }
        let n = to.len().min(self.ready.len() - self.start);
        to[..n].copy_from_slice(&self.ready[self.start..self.start + n]);
        self.start += n;
        Ok(n)
    }
}
