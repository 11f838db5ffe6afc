use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::memory::require_memory;
use crate::{Alphabet, Label};

/// Least number of bytes that an inference takes for a pair of labels: the scores of the constant
/// functions, the table, its exponentials by row and by column, and its marginals.
const TABLE_BYTES: f64 = 5.0 * 8.0;

/// Schema of a dataset: its channels, the label alphabet of each kind of node, and the relations
/// of its edges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredSchema")]
pub struct Schema {
    channels: Vec<Channel>,
    kinds: Vec<NodeKind>,
    relations: Vec<Relation>,
}

/// Stored form of a schema; reading it repeats the checks.
#[derive(Deserialize)]
struct StoredSchema {
    channels: Vec<Channel>,
    kinds: Vec<NodeKind>,
    relations: Vec<Relation>,
}

impl TryFrom<StoredSchema> for Schema {
    type Error = Error;

    fn try_from(StoredSchema { channels, kinds, relations }: StoredSchema) -> Result<Self> {
        Schema::graph(channels, kinds, relations)
    }
}

/// Named column of observations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Name by which prototypes refer to the channel.
    pub name: String,
    /// Type of the values.
    pub kind: ChannelKind,
}

/// Type of a channel's values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChannelKind {
    /// Finite real numbers.
    Real,
    /// Symbols of an alphabet; an index beyond it is a symbol that training never saw.
    Symbol(Alphabet),
    /// Any number of symbols, each with a value: the attributes of a text position.
    Bag(Alphabet),
}

impl ChannelKind {
    /// Alphabet of the channel's symbols, if it has any.
    pub fn alphabet(&self) -> Option<&Alphabet> {
        match self {
            ChannelKind::Real => None,
            ChannelKind::Symbol(alphabet) | ChannelKind::Bag(alphabet) => Some(alphabet),
        }
    }

    /// Type of the values in words, for error messages.
    pub fn holds(&self) -> &'static str {
        match self {
            ChannelKind::Real => "real numbers",
            ChannelKind::Symbol(_) => "symbols",
            ChannelKind::Bag(_) => "bags of attributes",
        }
    }
}

/// Kind of node, with the labels it can take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeKind {
    /// Name of the kind; a chain's only kind is `label`.
    pub name: String,
    /// Labels of nodes of this kind.
    pub labels: Alphabet,
}

/// Kind of edge, with the kinds of node at its ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// Name of the relation; a chain's only relation is `next`.
    pub name: String,
    /// Kind of the tail, an index into [`Schema::kinds`].
    pub tail: u16,
    /// Kind of the head, an index into [`Schema::kinds`].
    pub head: u16,
}

impl Schema {
    /// Schema of chains: one kind of node, and one relation `next` from each position to the next.
    pub fn chain(channels: Vec<Channel>, labels: Alphabet) -> Result<Self> {
        let kinds = vec![NodeKind { name: "label".into(), labels }];
        Schema::graph(channels, kinds, vec![Relation { name: "next".into(), tail: 0, head: 0 }])
    }

    /// Empty schema, of a map that is not restored yet.
    pub(crate) fn empty() -> std::sync::Arc<Schema> {
        Schema { channels: Vec::new(), kinds: Vec::new(), relations: Vec::new() }.into()
    }

    /// Schema of chains whose labels are added later.
    pub(crate) fn unlabelled_chain(channels: Vec<Channel>) -> Result<Self> {
        let mut schema = Schema::chain(channels, Alphabet::new(["?"]))?;
        schema.kinds[0].labels = Alphabet::default();
        Ok(schema)
    }

    /// Schema of graphs with several kinds of node and edge.
    pub fn graph(channels: Vec<Channel>, kinds: Vec<NodeKind>, relations: Vec<Relation>) -> Result<Self> {
        unique("channels", channels.iter().map(|channel| channel.name.as_str()))?;
        unique("kinds of node", kinds.iter().map(|kind| kind.name.as_str()))?;
        unique("relations", relations.iter().map(|relation| relation.name.as_str()))?;
        let most = usize::from(u16::MAX) + 1;
        if kinds.len().max(relations.len()) > most {
            return Err(Error::data(format!("more than {most} kinds of node or relations")));
        }
        if kinds.is_empty() || kinds.iter().any(|kind| kind.labels.is_empty()) {
            return Err(Error::data("every kind of node needs at least one label".to_owned()));
        }
        if let Some(relation) = relations.iter().find(|r| r.tail.max(r.head) as usize >= kinds.len()) {
            return Err(Error::data(format!("relation `{}` joins an unknown kind of node", relation.name)));
        }
        Ok(Schema { channels, kinds, relations })
    }

    /// All channels.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// All kinds of node.
    pub fn kinds(&self) -> &[NodeKind] {
        &self.kinds
    }

    /// All relations.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// Labels of the first kind of node; chains have no other.
    pub fn labels(&self) -> &Alphabet {
        &self.kinds[0].labels
    }

    pub(crate) fn alphabet_mut(&mut self, channel: usize) -> &mut Alphabet {
        match &mut self.channels[channel].kind {
            ChannelKind::Symbol(alphabet) | ChannelKind::Bag(alphabet) => alphabet,
            ChannelKind::Real => panic!("channel {channel} is real"),
        }
    }

    pub(crate) fn labels_mut(&mut self) -> &mut Alphabet {
        &mut self.kinds[0].labels
    }

    /// Number of labels of a kind of node.
    pub fn n_labels(&self, kind: u16) -> usize {
        self.kinds[kind as usize].labels.len()
    }

    /// Shape of a relation's table: (labels of the tail, labels of the head).
    pub fn table_shape(&self, relation: u16) -> (usize, usize) {
        let Relation { tail, head, .. } = self.relations[relation as usize];
        (self.n_labels(tail), self.n_labels(head))
    }

    /// Rejects alphabets of labels whose pairs cannot be numbered, or for whose tables there is no
    /// memory.
    pub(crate) fn require_tables(&self) -> Result<()> {
        for relation in 0..self.relations.len() as u16 {
            let (rows, columns) = self.table_shape(relation);
            let (n_pairs, n_labels) = (rows as f64 * columns as f64, rows.max(columns));
            let advice = "is the column of labels the right one?";
            if n_pairs > f64::from(u32::MAX) {
                return Err(Error::data(format!(
                    "the data have {n_labels} labels, and pairs are numbered for at most 65536; {advice}"
                )));
            }
            let what = format!("tables of all pairs of {n_labels} labels");
            require_memory(n_pairs * TABLE_BYTES, &what, &format!("use fewer labels; {advice}"))?;
        }
        Ok(())
    }

    /// Index of the channel called `name`, or an error that names the nearest one.
    pub fn channel(&self, name: &str) -> Result<usize> {
        let names = self.channels.iter().map(|c| c.name.as_str());
        names.clone().position(|n| n == name).ok_or_else(|| Error::unknown("channel", name, names))
    }

    /// Index of the relation called `name`, or an error that names the nearest one.
    pub fn relation(&self, name: &str) -> Result<u16> {
        let names = self.relations.iter().map(|r| r.name.as_str());
        names
            .clone()
            .position(|n| n == name)
            .map(|n| n as u16)
            .ok_or_else(|| Error::unknown("relation", name, names))
    }

    /// Index of the kind of node called `name`, or an error that names the nearest one.
    pub fn kind(&self, name: &str) -> Result<u16> {
        let names = self.kinds.iter().map(|k| k.name.as_str());
        names
            .clone()
            .position(|n| n == name)
            .map(|n| n as u16)
            .ok_or_else(|| Error::unknown("kind of node", name, names))
    }

    /// Index of the label called `name` among those of `kind`, or an error that names the nearest
    /// one.
    pub fn label(&self, kind: u16, name: &str) -> Result<Label> {
        let labels = &self.kinds[kind as usize].labels;
        labels.number(name).ok_or_else(|| Error::unknown("label", name, labels.names().iter()))
    }
}

/// Returns an error if two of `names` are the same.
fn unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut known = HashSet::new();
    match names.into_iter().find(|name| !known.insert(*name)) {
        Some(name) => Err(Error::data(format!("two {what} are named `{name}`"))),
        None => Ok(()),
    }
}
