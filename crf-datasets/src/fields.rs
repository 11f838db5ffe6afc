use crf_core::Result;

use crate::lines::Line;

/// The fields of a line, one after the other.
pub(crate) struct Fields<'a> {
    line: Line<'a>,
    separator: char,
    at: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(line: Line<'a>, separator: char) -> Self {
        Fields { line, separator, at: 0 }
    }

    /// Where the next field begins, for [`Line::error`].
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The next field as what is wanted of it.
    pub(crate) fn next<T>(&mut self, want: &str, read: impl FnOnce(&'a str) -> Option<T>) -> Result<T> {
        let Some(rest) = self.line.text.get(self.at..) else {
            return Err(self.line.error(self.line.text.len(), want, "the end of the line"));
        };
        let field = rest.split(self.separator).next().unwrap_or_default();
        let value = read(field).ok_or_else(|| self.line.error(self.at, want, format!("`{field}`")))?;
        self.at += field.len() + 1;
        Ok(value)
    }

    /// The next field, which must not be empty.
    pub(crate) fn name(&mut self, want: &str) -> Result<&'a str> {
        self.next(want, |text| (!text.is_empty()).then_some(text))
    }

    /// The next field as a finite number.
    pub(crate) fn real(&mut self) -> Result<f64> {
        self.next("a finite number", |text| text.parse().ok().filter(|x: &f64| x.is_finite()))
    }

    /// The next field, which must be the number `count`.
    pub(crate) fn count(&mut self, count: usize, of: &str) -> Result<()> {
        let at = self.at;
        let got: usize = self.next("a position", |text| text.parse().ok())?;
        if got == count {
            return Ok(());
        }
        Err(self.line.error(at, format!("position {count} of {of}"), got))
    }

    /// Refuses more fields.
    pub(crate) fn end(&self) -> Result<()> {
        match self.line.text.get(self.at..) {
            Some(more) => Err(self.line.error(self.at, "the end of the line", format!("`{more}`"))),
            None => Ok(()),
        }
    }
}
