mod macros;
mod pattern;

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Alphabet;
use crate::data::dataset::{Dataset, Sequence};
use crate::data::schema::Schema;
use crate::error::{Error, Result, require};
use crate::features::prototype::{EncodedRows, Encoder, Observation, Prototype};
use pattern::Pattern;

/// Attributes made of the symbols around a position: windows, n-grams, prefixes, suffixes and
/// shapes.
///
/// A template is one or more cells with `|` between them. A cell is `word[-1]`, the symbol of
/// channel `word` one position earlier; `prefix3(word[0])` and `suffix3(word[0])`, its first and
/// last three letters; `lower(word[0])`, the symbol in lower case; or `shape(word[0])`, in which
/// capitals become A, small letters a and digits 0, each run once. The template `first` is an
/// attribute of the first position, `last` of the last. A template that reaches beyond the
/// sequence, or asks for more letters than there are, generates no attribute. Symbols that training
/// never saw still have prefixes, suffixes and shapes.
///
/// A template that contains `%` is text with macros, as in CRF++ and Wapiti: `%x[-1,0]` is the
/// symbol of the first column one position earlier, `%t[0,0,"\u"]` is `true` or `false` for whether
/// a pattern is found in it, `%m[0,0,"^.?.?"]` is the part that matches, and capitals (`%X`)
/// convert to lower case. Beyond the sequence macros read `_B-1`, `_B+1` and so on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Template {
    /// Templates, each of which generates attributes.
    pub templates: Vec<String>,
    /// Minimum number of occurrences in the training data; rarer attributes are dropped. At least
    /// 1.
    pub min_count: u32,
}

impl Default for Template {
    fn default() -> Self {
        Template { templates: Vec::new(), min_count: 1 }
    }
}

crate::plugin!("prototype", Template, "template", example = r#"templates = ["word[0]"]"#);

#[typetag::serde(name = "template")]
impl Prototype for Template {
    fn check(&self) -> Result<()> {
        require(!self.templates.is_empty(), "templates", "a list of at least one template", "[]")?;
        require(self.min_count > 0, "min_count", "at least 1", self.min_count)?;
        self.templates.iter().try_for_each(|template| parse(template).map(drop))
    }

    /// Numbers attributes by frequency, so that frequent ones are together in memory.
    fn fit(&self, train: &Dataset) -> Result<Box<dyn Encoder>> {
        let templates = self.templates.iter().map(|template| BoundTemplate::new(template, train.schema()));
        let templates = templates.collect::<Result<Vec<_>>>()?;
        let mut seen = Alphabet::default();
        let mut counts = Vec::new();
        for i in 0..train.len() {
            let x = train.sequence(i);
            for t in 0..x.len() {
                for_each_attribute(&templates, &x, t, |attribute| {
                    let number = seen.intern(attribute) as usize;
                    counts.resize(seen.len(), 0_u32);
                    counts[number] = counts[number].saturating_add(1);
                });
            }
        }
        let mut order: Vec<u32> = (0..counts.len() as u32).collect();
        order.retain(|&attribute| counts[attribute as usize] >= self.min_count);
        order.sort_by_key(|&attribute| std::cmp::Reverse(counts[attribute as usize]));
        let attributes = Alphabet::new(order.into_iter().map(|attribute| seen.name(attribute)));
        Ok(Box::new(Fitted { templates, attributes }))
    }
}

/// Token of a template: literal text, or a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum TemplateToken<Channel> {
    /// Literal text.
    Text(String),
    /// Symbol, or part of it.
    Cell(Cell<Channel>),
}

/// Cell of a template: a channel at an offset from the position.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Cell<Channel> {
    pub(super) channel: Channel,
    pub(super) offset: i64,
    pub(super) part: SymbolPart,
    /// True if cells beyond the sequence have names; otherwise they generate no attribute.
    pub(super) named_ends: bool,
}

/// Reference to a channel in a template.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ChannelRef {
    Name(String),
    Column(usize),
}

/// Part of a symbol that is used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum SymbolPart {
    Whole,
    Lower,
    Shape,
    Prefix(usize),
    Suffix(usize),
    /// Test of whether a pattern is found.
    Test(Pattern),
    /// Part that a pattern matches; in lower case if true.
    Match(Pattern, bool),
}

/// Parses a template into tokens; `first` and `last` are text only.
fn parse(template: &str) -> Result<Vec<TemplateToken<ChannelRef>>> {
    if template.contains('%') {
        return macros::parse(template);
    }
    let mut tokens = vec![TemplateToken::Text(template.to_owned())];
    if !matches!(template, "first" | "last") {
        for (n, text) in template.split('|').enumerate() {
            tokens.push(TemplateToken::Text(if n == 0 { "=" } else { "|" }.to_owned()));
            tokens.push(TemplateToken::Cell(parse_cell(text).ok_or_else(|| syntax_error(template, text))?));
        }
    }
    Ok(tokens)
}

fn syntax_error(template: &str, cell: &str) -> Error {
    let want = "templates of cells such as `word[-1]`, `prefix3(word[0])`, `lower(word[0])` or `shape(word[0])`, or of \
                macros such as `U01:%x[-1,0]`";
    Error::setting("templates", want, format!("`{cell}` in `{template}`"))
}

fn parse_cell(cell: &str) -> Option<Cell<ChannelRef>> {
    let (part, location) = match cell.strip_suffix(')').and_then(|cell| cell.split_once('(')) {
        None => (SymbolPart::Whole, cell),
        Some(("lower", location)) => (SymbolPart::Lower, location),
        Some(("shape", location)) => (SymbolPart::Shape, location),
        Some((function, location)) => {
            let letters = |name| function.strip_prefix(name)?.parse().ok().filter(|&n| n > 0);
            (
                letters("prefix")
                    .map(SymbolPart::Prefix)
                    .or_else(|| letters("suffix").map(SymbolPart::Suffix))?,
                location,
            )
        }
    };
    let (channel, offset) = location.strip_suffix(']')?.rsplit_once('[')?;
    let channel = ChannelRef::Name(channel.to_owned());
    Some(Cell { channel, offset: offset.parse().ok()?, part, named_ends: false })
}

/// Template bound to the channels of a schema.
#[derive(Debug, Serialize, Deserialize)]
struct BoundTemplate {
    #[serde(rename = "only")]
    positions: Positions,
    #[serde(rename = "pieces")]
    tokens: Vec<TemplateToken<usize>>,
}

/// Positions at which a template generates an attribute.
#[derive(Debug, Serialize, Deserialize)]
enum Positions {
    All,
    First,
    Last,
}

impl BoundTemplate {
    fn new(template: &str, schema: &Schema) -> Result<Self> {
        let bind = |token: TemplateToken<ChannelRef>| {
            let Cell { channel, offset, part, named_ends } = match token {
                TemplateToken::Text(text) => return Ok(TemplateToken::Text(text)),
                TemplateToken::Cell(cell) => cell,
            };
            let name = match channel {
                ChannelRef::Name(name) => name,
                ChannelRef::Column(column) => {
                    let columns = schema.channels();
                    let out_of_range = || {
                        let want =
                            format!("templates of the columns 0 to {}", columns.len().saturating_sub(1));
                        Error::setting("templates", want, format!("column {column} in `{template}`"))
                    };
                    columns.get(column).ok_or_else(out_of_range)?.name.clone()
                }
            };
            let channel = super::channels(schema, &[name], "symbols")?[0];
            Ok(TemplateToken::Cell(Cell { channel, offset, part, named_ends }))
        };
        let positions = match template {
            "first" => Positions::First,
            "last" => Positions::Last,
            _ => Positions::All,
        };
        let tokens = parse(template)?.into_iter().map(bind).collect::<Result<Vec<_>>>()?;
        Ok(BoundTemplate { positions, tokens })
    }

    fn channels(&self) -> impl Iterator<Item = usize> {
        self.tokens.iter().filter_map(|token| match token {
            TemplateToken::Text(_) => None,
            TemplateToken::Cell(cell) => Some(cell.channel),
        })
    }

    /// Writes the attribute at position `t`, if there is one.
    fn write(&self, x: &Sequence<'_>, t: usize, out: &mut String) -> Option<()> {
        let here = match self.positions {
            Positions::All => true,
            Positions::First => t == 0,
            Positions::Last => t + 1 == x.len(),
        };
        if !here {
            return None;
        }
        out.clear();
        for token in &self.tokens {
            let Cell { channel, offset, part, named_ends } = match token {
                TemplateToken::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                TemplateToken::Cell(cell) => cell,
            };
            let position = t as i64 + offset;
            let symbol = usize::try_from(position).ok().and_then(|t| x.symbol(*channel).get(t));
            match symbol {
                Some(&symbol) => write_part(x.symbol_name(*channel, symbol)?, part, out)?,
                None if *named_ends => {
                    let beyond = if position < 0 { position } else { position - x.len() as i64 + 1 };
                    let _ = write!(out, "_B{beyond:+}");
                }
                None => return None,
            }
        }
        Some(())
    }
}

fn write_part(symbol: &str, part: &SymbolPart, out: &mut String) -> Option<()> {
    match part {
        SymbolPart::Whole => out.push_str(symbol),
        SymbolPart::Lower => symbol.chars().flat_map(char::to_lowercase).for_each(|c| out.push(c)),
        SymbolPart::Test(pattern) => {
            out.push_str(if pattern.find(symbol).is_some() { "true" } else { "false" })
        }
        SymbolPart::Match(pattern, lower) => {
            let part = if *lower { &SymbolPart::Lower } else { &SymbolPart::Whole };
            write_part(&symbol[pattern.find(symbol).unwrap_or_default()], part, out)?;
        }
        SymbolPart::Prefix(n) => {
            let end = symbol.char_indices().map(|(at, c)| at + c.len_utf8()).nth(n - 1)?;
            out.push_str(&symbol[..end]);
        }
        SymbolPart::Suffix(n) => {
            let (start, _) = symbol.char_indices().rev().nth(n - 1)?;
            out.push_str(&symbol[start..]);
        }
        SymbolPart::Shape => {
            let mut last = None;
            for c in symbol.chars() {
                let class = match c {
                    _ if c.is_uppercase() => 'A',
                    _ if c.is_alphabetic() => 'a',
                    _ if c.is_numeric() => '0',
                    _ => c,
                };
                if last != Some(class) {
                    let _ = out.write_char(class);
                }
                last = Some(class);
            }
        }
    }
    Some(())
}

fn for_each_attribute(templates: &[BoundTemplate], x: &Sequence<'_>, t: usize, mut f: impl FnMut(&str)) {
    let mut attribute = String::new();
    for template in templates {
        if template.write(x, t, &mut attribute).is_some() {
            f(&attribute);
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Fitted {
    templates: Vec<BoundTemplate>,
    attributes: Alphabet,
}

#[typetag::serde(name = "template")]
impl Encoder for Fitted {
    fn observations(&self, _schema: &Schema) -> Vec<Observation> {
        self.attributes.names().iter().map(Observation::new).collect()
    }

    fn n_plain_functions(&self) -> Option<usize> {
        Some(self.attributes.len())
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        let channels = self.templates.iter().flat_map(BoundTemplate::channels);
        super::require_channels(schema, channels, "symbols")
    }

    fn encode(&self, x: &Sequence<'_>, out: &mut EncodedRows) {
        for t in 0..x.len() {
            for_each_attribute(&self.templates, x, t, |attribute| {
                self.attributes.number(attribute).into_iter().for_each(|g| out.push(g, 1.0));
            });
            out.end_row();
        }
    }
}
