use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::{Alphabet, Label};

/// What the positions of a dataset carry: channels, the label alphabet of each kind of node, and the
/// relations that edges can have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    channels: Vec<Channel>,
    kinds: Vec<NodeKind>,
    relations: Vec<Relation>,
}

/// One named column of observations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// The name by which prototypes refer to the channel.
    pub name: String,
    /// Real numbers or symbols.
    pub kind: ChannelKind,
}

/// Whether a channel holds numbers or symbols.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChannelKind {
    /// Finite real numbers.
    Real,
    /// Symbols of an alphabet; a number outside of it stands for a symbol that training never saw.
    Symbol(Alphabet),
    /// Any number of symbols, each with a value: the attributes of a text position.
    Bag(Alphabet),
}

impl ChannelKind {
    /// The alphabet of the channel's symbols, if it has any.
    pub fn alphabet(&self) -> Option<&Alphabet> {
        match self {
            ChannelKind::Real => None,
            ChannelKind::Symbol(alphabet) | ChannelKind::Bag(alphabet) => Some(alphabet),
        }
    }

    /// What the channel holds, in words.
    pub fn holds(&self) -> &'static str {
        match self {
            ChannelKind::Real => "real numbers",
            ChannelKind::Symbol(_) => "symbols",
            ChannelKind::Bag(_) => "bags of attributes",
        }
    }
}

/// A kind of node with the labels it can take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeKind {
    /// The name of the kind; a chain's only kind is `label`.
    pub name: String,
    /// The labels a node of this kind can take.
    pub labels: Alphabet,
}

/// A kind of edge with the kinds of node at its two ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// The name of the relation; a chain's only relation is `next`.
    pub name: String,
    /// Kind of the first node, a number into [`Schema::kinds`].
    pub tail: u16,
    /// Kind of the second node, a number into [`Schema::kinds`].
    pub head: u16,
}

impl Schema {
    /// The schema of chains: one kind of node, one relation `next` from each position to the one after.
    pub fn chain(channels: Vec<Channel>, labels: Alphabet) -> Result<Self> {
        let kinds = vec![NodeKind { name: "label".into(), labels }];
        Schema::graph(channels, kinds, vec![Relation { name: "next".into(), tail: 0, head: 0 }])
    }

    /// The schema of a map whose features are still to come.
    pub(crate) fn nothing() -> std::sync::Arc<Schema> {
        Schema { channels: Vec::new(), kinds: Vec::new(), relations: Vec::new() }.into()
    }

    /// The schema of chains whose labels are still to come.
    pub(crate) fn unlabelled_chain(channels: Vec<Channel>) -> Result<Self> {
        let mut schema = Schema::chain(channels, Alphabet::new(["?"]))?;
        schema.kinds[0].labels = Alphabet::default();
        Ok(schema)
    }

    /// The schema of graphs with several kinds of node and edge.
    pub fn graph(channels: Vec<Channel>, kinds: Vec<NodeKind>, relations: Vec<Relation>) -> Result<Self> {
        for (i, channel) in channels.iter().enumerate() {
            if channels[..i].iter().any(|other| other.name == channel.name) {
                return Err(Error::data(format!("two channels are named `{}`", channel.name)));
            }
        }
        if kinds.is_empty() || kinds.iter().any(|kind| kind.labels.is_empty()) {
            return Err(Error::data("every kind of node needs at least one label".to_owned()));
        }
        if let Some(relation) = relations.iter().find(|r| r.tail.max(r.head) as usize >= kinds.len()) {
            return Err(Error::data(format!("relation `{}` joins an unknown kind of node", relation.name)));
        }
        Ok(Schema { channels, kinds, relations })
    }

    /// All channels, in order.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// The kinds of node.
    pub fn kinds(&self) -> &[NodeKind] {
        &self.kinds
    }

    /// The relations of edges.
    pub fn relations(&self) -> &[Relation] {
        &self.relations
    }

    /// The labels of the first kind of node: all there are on chains.
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

    /// How many labels nodes of a kind can take.
    pub fn n_labels(&self, kind: u16) -> usize {
        self.kinds[kind as usize].labels.len()
    }

    /// The sides of a relation's table: labels of the tail, labels of the head.
    pub fn table_shape(&self, relation: u16) -> (usize, usize) {
        let Relation { tail, head, .. } = self.relations[relation as usize];
        (self.n_labels(tail), self.n_labels(head))
    }

    /// The number of the channel called `name`, or an error that names the nearest one.
    pub fn channel(&self, name: &str) -> Result<usize> {
        let names = self.channels.iter().map(|c| c.name.as_str());
        names.clone().position(|n| n == name).ok_or_else(|| Error::unknown("channel", name, names))
    }

    /// The number of the relation called `name`, or an error that names the nearest one.
    pub fn relation(&self, name: &str) -> Result<u16> {
        let names = self.relations.iter().map(|r| r.name.as_str());
        names
            .clone()
            .position(|n| n == name)
            .map(|n| n as u16)
            .ok_or_else(|| Error::unknown("relation", name, names))
    }

    /// The number of the kind of node called `name`, or an error that names the nearest one.
    pub fn kind(&self, name: &str) -> Result<u16> {
        let names = self.kinds.iter().map(|k| k.name.as_str());
        names
            .clone()
            .position(|n| n == name)
            .map(|n| n as u16)
            .ok_or_else(|| Error::unknown("kind of node", name, names))
    }

    /// The number of the label called `name` among those of `kind`, or an error that names the nearest one.
    pub fn label(&self, kind: u16, name: &str) -> Result<Label> {
        let labels = &self.kinds[kind as usize].labels;
        labels.number(name).ok_or_else(|| Error::unknown("label", name, labels.names().iter()))
    }
}
