use std::fmt::{self, Display};

use crf_core::{Label, Result, Value};

use crate::text::lines::Line;

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
    pub(crate) fn next<T>(
        &mut self,
        want: impl Display,
        read: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<T> {
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
    fn real(&mut self) -> Result<f64> {
        self.next("a finite number", |text| text.parse().ok().filter(|x: &f64| x.is_finite()))
    }

    /// So many fields as values of real channels.
    pub(crate) fn reals(&mut self, n: usize, out: &mut Vec<Value<'static>>) -> Result<()> {
        for _ in 0..n {
            out.push(Value::Real(self.real()?));
        }
        Ok(())
    }

    /// The next field as a time that is not before another.
    pub(crate) fn time(&mut self, before: Option<f64>) -> Result<f64> {
        let finite = |text: &str| text.parse().ok().filter(|time: &f64| time.is_finite());
        match before {
            None => self.next("a time", finite),
            Some(before) => self.next(format_args!("a time of at least {before}"), |text| {
                finite(text).filter(|&time| time >= before)
            }),
        }
    }

    /// The place of the next field in a list.
    pub(crate) fn one_of(&mut self, names: &[&str]) -> Result<Label> {
        let place = |text| names.iter().position(|name| *name == text);
        Ok(self.next(OneOf(names), place)? as Label)
    }

    /// The next field, which must be the number `count`.
    pub(crate) fn count(&mut self, count: usize, of: impl Display) -> Result<()> {
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

/// What was wanted, spelled out only where it was not there.
struct OneOf<'a>(&'a [&'a str]);

impl Display for OneOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {}", self.0.join(", "))
    }
}
