use std::ops::Range;

use toml::Value;
use toml::de::{DeTable, DeValue};

use super::{KeyOrValue, KeyPath};
use crate::error::{Error, Result};

/// The text of a config file with the location of every key and value.
#[derive(Debug)]
pub(crate) struct Document {
    file: String,
    text: String,
    root: Node,
    /// The contents of the file, without locations.
    pub(crate) value: Value,
}

#[derive(Debug)]
struct Node {
    key: Range<usize>,
    value: Range<usize>,
    children: Vec<(String, Node)>,
}

impl Document {
    /// Parses the text of a file; `file` is its name in messages.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self> {
        let wrong = |error: toml::de::Error| {
            let start = error.span().map_or(text.len(), |span| span.start);
            Error::config(location(file, text, start), one_line(error.message()))
        };
        let root = DeTable::parse(text).map_err(wrong)?;
        let root = Node { key: 0..0, value: 0..0, children: table(root.get_ref()) };
        let value = Value::Table(toml::from_str(text).map_err(wrong)?);
        Ok(Document { file: file.to_owned(), text: text.to_owned(), root, value })
    }

    /// True if the file itself has an entry at `path`.
    pub(crate) fn contains(&self, path: &KeyPath) -> bool {
        self.find(path).1
    }

    /// `FILE:LINE:COLUMN` of a key or its value, or of the nearest entry above it if the file omits
    /// it.
    pub(crate) fn location(&self, path: &KeyPath, side: KeyOrValue) -> String {
        let (node, is_exact) = self.find(path);
        let span = if is_exact && side == KeyOrValue::Key { &node.key } else { &node.value };
        location(&self.file, &self.text, span.start)
    }

    fn find(&self, path: &KeyPath) -> (&Node, bool) {
        let mut node = &self.root;
        for step in path.steps() {
            match node.children.iter().find(|(name, _)| name == step) {
                Some((_, child)) => node = child,
                None => return (node, false),
            }
        }
        (node, true)
    }
}

fn table(table: &DeTable<'_>) -> Vec<(String, Node)> {
    let entry = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
        let name: &std::borrow::Cow<'_, str> = key.get_ref();
        (name.to_string(), Node { key: key.span(), value: value.span(), children: children(value.get_ref()) })
    };
    table.iter().map(entry).collect()
}

fn children(value: &DeValue<'_>) -> Vec<(String, Node)> {
    match value {
        DeValue::Table(inner) => table(inner),
        DeValue::Array(array) => {
            let element = |(i, value): (usize, &toml::Spanned<DeValue<'_>>)| {
                let children = children(value.get_ref());
                (i.to_string(), Node { key: value.span(), value: value.span(), children })
            };
            array.iter().enumerate().map(element).collect()
        }
        _ => Vec::new(),
    }
}

fn location(file: &str, text: &str, offset: usize) -> String {
    let before = &text[..offset.min(text.len())];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{file}:{line}:{column}")
}

/// A message without line breaks and without the path that toml adds, since the location is better.
pub(crate) fn one_line(message: &str) -> String {
    let lines =
        message.split('\n').map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("in `"));
    lines.collect::<Vec<_>>().join(", ")
}
