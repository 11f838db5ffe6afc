use std::fmt::{self, Display};

use crf_core::{Label, Result, Value};

use crate::text::lines::Line;

/// Reader of the fields of a line, from left to right.
pub(crate) struct Fields<'a> {
    line: Line<'a>,
    separator: char,
    offset: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(line: Line<'a>, separator: char) -> Self {
        Fields { line, separator, offset: 0 }
    }

    /// Byte offset of the next field, for [`Line::error`].
    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// The next field, parsed; `want` says in the message what was expected.
    pub(crate) fn next<T>(
        &mut self,
        want: impl Display,
        parse: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<T> {
        let Some(rest) = self.line.text.get(self.offset..) else {
            return Err(self.line.error(self.line.text.len(), want, "the end of the line"));
        };
        let field = rest.split(self.separator).next().unwrap_or_default();
        let value = parse(field).ok_or_else(|| self.line.error(self.offset, want, format!("`{field}`")))?;
        self.offset += field.len() + 1;
        Ok(value)
    }

    /// The next field, which must not be empty.
    pub(crate) fn name(&mut self, want: &str) -> Result<&'a str> {
        self.next(want, |text| (!text.is_empty()).then_some(text))
    }

    /// The next `n` fields as values of real channels.
    pub(crate) fn reals(&mut self, n: usize, out: &mut Vec<Value<'static>>) -> Result<()> {
        for _ in 0..n {
            out.push(Value::Real(self.next("a finite number", finite)?));
        }
        Ok(())
    }

    /// The next field as a time, which must not be before the `previous` one.
    pub(crate) fn time(&mut self, previous: Option<f64>) -> Result<f64> {
        match previous {
            None => self.next("a time", finite),
            Some(previous) => self.next(format_args!("a time of at least {previous}"), |text| {
                finite(text).filter(|&time| time >= previous)
            }),
        }
    }

    /// Index of the next field in a list of names.
    pub(crate) fn one_of(&mut self, names: &[&str]) -> Result<Label> {
        let index = |text| names.iter().position(|name| *name == text);
        Ok(self.next(OneOf(names), index)? as Label)
    }

    /// Reads the next field, which must be the number `count`; `whole` names in the message what is
    /// counted.
    pub(crate) fn count(&mut self, count: usize, whole: impl Display) -> Result<()> {
        let offset = self.offset;
        let got: usize = self.next("a position", |text| text.parse().ok())?;
        if got == count {
            return Ok(());
        }
        Err(self.line.error(offset, format!("position {count} of {whole}"), got))
    }

    /// Refuses further fields.
    pub(crate) fn end(&self) -> Result<()> {
        match self.line.text.get(self.offset..) {
            Some(more) => Err(self.line.error(self.offset, "the end of the line", format!("`{more}`"))),
            None => Ok(()),
        }
    }
}

/// Parses a finite number.
pub(crate) fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// List of expected names, joined only if a message shows it.
struct OneOf<'a>(&'a [&'a str]);

impl Display for OneOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {}", self.0.join(", "))
    }
}
