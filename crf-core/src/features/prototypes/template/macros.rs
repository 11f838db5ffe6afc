//! Parser of templates in the syntax of CRF++ and Wapiti: text with macros of the form
//! `%x[offset,column]`.

use super::pattern::Pattern;
use super::{Cell, ChannelRef, SymbolPart, TemplateToken};
use crate::error::{Error, Result};

/// Parses a template with macros into tokens.
pub(super) fn parse(template: &str) -> Result<Vec<TemplateToken<ChannelRef>>> {
    let mut tokens = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find('%') {
        tokens.push(TemplateToken::Text(rest[..at].to_owned()));
        let (cell, after) = parse_macro(&rest[at + 1..]).ok_or_else(|| {
            let want = "templates with macros such as `%x[-1,0]`, `%t[0,0,\"\\u\"]` or `%m[0,0,\"^.?.?\"]`";
            Error::setting("templates", want, format!("`{}` in `{template}`", &rest[at..]))
        })?;
        tokens.push(TemplateToken::Cell(cell));
        rest = after;
    }
    tokens.push(TemplateToken::Text(rest.to_owned()));
    tokens.retain(|token| *token != TemplateToken::Text(String::new()));
    Ok(tokens)
}

/// Parses the macro whose letter comes first, and returns the text behind it too.
fn parse_macro(text: &str) -> Option<(Cell<ChannelRef>, &str)> {
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
                SymbolPart::Lower
            } else {
                SymbolPart::Whole
            }
        }
        ('t', Some(pattern)) => SymbolPart::Test(Pattern::new(pattern)?),
        ('m', Some(pattern)) => SymbolPart::Match(Pattern::new(pattern)?, lower),
        _ => return None,
    };
    let channel = ChannelRef::Column(column.trim().parse().ok()?);
    let offset = offset.trim().parse().ok()?;
    Some((Cell { channel, offset, part, named_ends: true }, after))
}

/// Offset of the closing quote; `\"` does not close.
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
