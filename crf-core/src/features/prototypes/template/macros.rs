//! Templates as CRF++ and Wapiti write them: text with macros of the form `%x[offset,column]`.

use super::pattern::Pattern;
use super::{By, Cell, Part, Piece};
use crate::error::{Error, Result};

/// The pieces of a template with macros.
pub(super) fn parse(template: &str) -> Result<Vec<Piece<By>>> {
    let (mut pieces, mut rest) = (Vec::new(), template);
    while let Some(at) = rest.find('%') {
        pieces.push(Piece::Text(rest[..at].to_owned()));
        let (cell, after) = macro_of(&rest[at + 1..]).ok_or_else(|| {
            let want = "templates with macros such as `%x[-1,0]`, `%t[0,0,\"\\u\"]` or `%m[0,0,\"^.?.?\"]`";
            Error::setting("templates", want, format!("`{}` in `{template}`", &rest[at..]))
        })?;
        pieces.push(Piece::Cell(cell));
        rest = after;
    }
    pieces.push(Piece::Text(rest.to_owned()));
    pieces.retain(|piece| *piece != Piece::Text(String::new()));
    Ok(pieces)
}

/// The macro whose letter comes first, and what stands behind it.
fn macro_of(text: &str) -> Option<(Cell<By>, &str)> {
    let letter = text.chars().next()?;
    let inner = text[letter.len_utf8()..].strip_prefix('[')?;
    let (offset, inner) = inner.split_once(',')?;
    let end = inner.find([',', ']'])?;
    let (column, inner) = inner.split_at(end);
    let (pattern, after) = match inner.strip_prefix(']') {
        Some(after) => (None, after),
        None => {
            let quoted = inner.strip_prefix(',')?.trim_start().strip_prefix('"')?;
            let end = end_of_quotes(quoted)?;
            (Some(&quoted[..end]), quoted[end + 1..].trim_start().strip_prefix(']')?)
        }
    };
    let lower = letter.is_uppercase();
    let part = match (letter.to_ascii_lowercase(), pattern) {
        ('x', None) => {
            if lower {
                Part::Lower
            } else {
                Part::Whole
            }
        }
        ('t', Some(pattern)) => Part::Test(Pattern::new(pattern)?),
        ('m', Some(pattern)) => Part::Match(Pattern::new(pattern)?, lower),
        _ => return None,
    };
    let channel = By::Column(column.trim().parse().ok()?);
    let offset = offset.trim().parse().ok()?;
    Some((Cell { channel, offset, part, named_ends: true }, after))
}

/// Where the text that began with a quote ends; `\"` does not end it.
fn end_of_quotes(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => return Some(at),
            _ => escaped = c == '\\' && !escaped,
        }
    }
    None
}
