use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Alphabet;
use crate::dataset::{Dataset, Sequence};
use crate::error::{Error, Result, require};
use crate::names::Names;
use crate::prototype::{Block, Encoder, Observation, Prototype};
use crate::schema::Schema;

/// Attributes made of the symbols around a position: windows, n-grams, prefixes, suffixes and shapes.
///
/// A template is one or more cells with `|` between. A cell is `word[-1]`, the symbol that channel `word` has one
/// position earlier; `prefix3(word[0])` and `suffix3(word[0])`, its first and last three letters; `lower(word[0])`;
/// or `shape(word[0])`, in which capitals become A, small letters a and digits 0, each run once. The template `first`
/// is an attribute of the first position, `last` one of the last. A template that reaches beyond the sequence, or asks
/// for more letters than there are, gives nothing. Symbols that training never saw still have prefixes, suffixes and
/// shapes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Template {
    /// The templates.
    pub templates: Vec<String>,
    /// Attributes that occur less often than this in the training data are dropped; at least 1.
    pub min_count: u32,
}

impl Default for Template {
    fn default() -> Self {
        Template { templates: Vec::new(), min_count: 1 }
    }
}

crate::plugin!("prototype", Template, "template");

#[typetag::serde(name = "template")]
impl Prototype for Template {
    fn check(&self) -> Result<()> {
        require(!self.templates.is_empty(), "templates", "a list of at least one template", "[]")?;
        require(self.min_count > 0, "min_count", "at least 1", self.min_count)?;
        self.templates.iter().try_for_each(|template| parse(template).map(drop))
    }

    /// Numbers attributes by how often they occur, so that frequent ones stand together in memory.
    fn fit(&self, train: &Dataset) -> Result<Box<dyn Encoder>> {
        let templates = self.templates.iter().map(|template| Bound::new(template, train.schema()));
        let templates = templates.collect::<Result<Vec<_>>>()?;
        let (mut seen, mut counts) = (Alphabet::default(), Vec::new());
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
        let attributes = order.into_iter().map(|attribute| seen.name(attribute)).collect::<Names>();
        Ok(Box::new(Fitted { templates, attributes: attributes.into() }))
    }
}

/// One place that a template looks at.
#[derive(Debug, PartialEq)]
struct Cell<'a> {
    channel: &'a str,
    offset: i64,
    part: Part,
}

/// What is taken of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Part {
    Whole,
    Lower,
    Shape,
    Prefix(usize),
    Suffix(usize),
}

/// The cells of a template; none for `first` and `last`.
fn parse(template: &str) -> Result<Vec<Cell<'_>>> {
    if matches!(template, "first" | "last") {
        return Ok(Vec::new());
    }
    template.split('|').map(|cell| cell_of(cell).ok_or_else(|| wrong(template, cell))).collect()
}

fn wrong(template: &str, cell: &str) -> Error {
    let want =
        "templates of cells such as `word[-1]`, `prefix3(word[0])`, `lower(word[0])` or `shape(word[0])`";
    Error::setting("templates", want, format!("`{cell}` in `{template}`"))
}

fn cell_of(cell: &str) -> Option<Cell<'_>> {
    let (part, place) = match cell.strip_suffix(')').and_then(|cell| cell.split_once('(')) {
        None => (Part::Whole, cell),
        Some(("lower", place)) => (Part::Lower, place),
        Some(("shape", place)) => (Part::Shape, place),
        Some((function, place)) => {
            let letters = |name| function.strip_prefix(name)?.parse().ok().filter(|&n| n > 0);
            (letters("prefix").map(Part::Prefix).or_else(|| letters("suffix").map(Part::Suffix))?, place)
        }
    };
    let (channel, offset) = place.strip_suffix(']')?.rsplit_once('[')?;
    Some(Cell { channel, offset: offset.parse().ok()?, part })
}

/// A template whose channels are known.
#[derive(Debug, Serialize, Deserialize)]
struct Bound {
    text: String,
    cells: Vec<(usize, i64, Part)>, // channel, offset
}

impl Bound {
    fn new(template: &str, schema: &Schema) -> Result<Self> {
        let bind = |cell: Cell<'_>| {
            let channel = super::channels(schema, &[cell.channel.to_owned()], "symbols")?;
            Ok((channel[0], cell.offset, cell.part))
        };
        let cells = parse(template)?.into_iter().map(bind).collect::<Result<Vec<_>>>()?;
        Ok(Bound { text: template.to_owned(), cells })
    }

    /// Writes the attribute at position `t`, if there is one.
    fn write(&self, x: &Sequence<'_>, t: usize, out: &mut String) -> Option<()> {
        out.clear();
        out.push_str(&self.text);
        match self.text.as_str() {
            "first" => return (t == 0).then_some(()),
            "last" => return (t + 1 == x.len()).then_some(()),
            _ => {}
        }
        for (n, &(channel, offset, part)) in self.cells.iter().enumerate() {
            let at = usize::try_from(t as i64 + offset).ok()?;
            let symbol = x.symbol_name(channel, *x.symbol(channel).get(at)?)?;
            out.push(if n == 0 { '=' } else { '|' });
            push_part(symbol, part, out)?;
        }
        Some(())
    }
}

fn push_part(symbol: &str, part: Part, out: &mut String) -> Option<()> {
    match part {
        Part::Whole => out.push_str(symbol),
        Part::Lower => symbol.chars().flat_map(char::to_lowercase).for_each(|c| out.push(c)),
        Part::Prefix(n) => {
            let end = symbol.char_indices().map(|(at, c)| at + c.len_utf8()).nth(n - 1)?;
            out.push_str(&symbol[..end]);
        }
        Part::Suffix(n) => {
            let (start, _) = symbol.char_indices().rev().nth(n - 1)?;
            out.push_str(&symbol[start..]);
        }
        Part::Shape => {
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

fn for_each_attribute(templates: &[Bound], x: &Sequence<'_>, t: usize, mut f: impl FnMut(&str)) {
    let mut attribute = String::new();
    for template in templates {
        if template.write(x, t, &mut attribute).is_some() {
            f(&attribute);
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Fitted {
    templates: Vec<Bound>,
    attributes: Alphabet,
}

#[typetag::serde(name = "template")]
impl Encoder for Fitted {
    fn observations(&self) -> Vec<Observation> {
        self.attributes.names().iter().map(Observation::new).collect()
    }

    fn encode(&self, x: &Sequence<'_>, out: &mut Block) {
        for t in 0..x.len() {
            for_each_attribute(&self.templates, x, t, |attribute| {
                self.attributes.number(attribute).into_iter().for_each(|g| out.push(g, 1.0));
            });
            out.end_row();
        }
    }
}
