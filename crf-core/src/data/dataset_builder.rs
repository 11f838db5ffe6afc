use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::data::dataset::{Column, Dataset, FOREIGN, Value, checked_weight};
use crate::data::graph::{Graph, Shape};
use crate::data::schema::{Channel, ChannelKind, Schema};
use crate::error::{Error, Result};
use crate::{Alphabet, Label};

/// Builder of a [`Dataset`], which checks every value when it is added.
#[derive(Debug)]
pub struct DatasetBuilder {
    data: Dataset,
    growing: bool,
}

impl DatasetBuilder {
    /// Starts an empty dataset of the given schema.
    pub fn new(schema: Arc<Schema>) -> Self {
        DatasetBuilder { data: Dataset::empty(schema), growing: false }
    }

    /// Starts an empty dataset of chains whose alphabets grow with the data: for training data.
    pub fn growing(channels: Vec<Channel>) -> Result<Self> {
        let mut builder = DatasetBuilder::new(Arc::new(Schema::unlabelled_chain(channels)?));
        builder.growing = true;
        Ok(builder)
    }

    /// Index of a symbol of a channel, for [`DatasetBuilder::push`].
    ///
    /// A symbol that the schema does not have is added to it while alphabets grow. Otherwise a
    /// symbol gets an index behind those of the schema, and an attribute of a bag one without a
    /// name.
    pub fn symbol(&mut self, channel: usize, name: &str) -> u32 {
        let known =
            self.data.schema.channels()[channel].kind.alphabet().and_then(|symbols| symbols.number(name));
        match known {
            Some(number) => number,
            None if self.growing => Arc::make_mut(&mut self.data.schema).alphabet_mut(channel).intern(name),
            None => match &self.data.schema.channels()[channel].kind {
                ChannelKind::Symbol(known) => known.len() as u32 + self.data.unseen[channel].intern(name),
                _ => u32::MAX,
            },
        }
    }

    /// Index of a label, for [`DatasetBuilder::push`]; a new label is foreign unless alphabets
    /// grow.
    pub fn label(&mut self, name: &str) -> Label {
        match self.data.schema.labels().number(name) {
            Some(label) => label,
            None if self.growing => Arc::make_mut(&mut self.data.schema).labels_mut().intern(name),
            None => FOREIGN + self.data.foreign.intern(name),
        }
    }

    /// Adds a position, with one value per channel, to the open sequence.
    ///
    /// An attribute that occurs twice in a bag counts with the sum of its values.
    pub fn push(&mut self, values: &[Value<'_>], label: Option<Label>) -> Result<()> {
        let data = &mut self.data;
        let location = |data: &Dataset| {
            let start = data.starts[data.starts.len() - 1];
            format!("sequence {}, position {}", data.starts.len(), data.labels.len() - start + 1)
        };
        if values.len() != data.columns.len() {
            let (got, want) = (values.len(), data.columns.len());
            return Err(
                Error::data(format!("expected {want} values, one per channel, got {got}")).at(location(data))
            );
        }
        for (c, value) in values.iter().enumerate() {
            let name = || format!("{}, channel `{}`", location(data), data.schema.channels()[c].name);
            match (value, &data.columns[c]) {
                (Value::Real(x), Column::Real(_)) if !x.is_finite() => {
                    return Err(Error::NotFinite(format!("got {x}; give every position a number")).at(name()));
                }
                (Value::Bag(bag), Column::Bag(_)) => {
                    let alphabet = data.schema.channels()[c].kind.alphabet();
                    let bag = summed(bag, alphabet);
                    if let Some((attribute, x)) = bag.iter().find(|(_, x)| !x.is_finite()) {
                        let known = alphabet.filter(|known| (*attribute as usize) < known.len());
                        let attribute = known.map_or("an unknown attribute", |known| known.name(*attribute));
                        return Err(Error::NotFinite(format!("`{attribute}` is {x}")).at(name()));
                    }
                }
                (Value::Real(_), Column::Real(_)) | (Value::Symbol(_), Column::Symbol(_)) => {}
                (value, _) => {
                    let got = match value {
                        Value::Real(_) => "a number",
                        Value::Symbol(_) => "a symbol",
                        Value::Bag(_) => "a bag of attributes",
                    };
                    let want = match data.schema.channels()[c].kind {
                        ChannelKind::Real => "a number",
                        ChannelKind::Symbol(_) => "a symbol",
                        ChannelKind::Bag(_) => "a bag of attributes",
                    };
                    return Err(Error::data(format!("expected {want}, got {got}")).at(name()));
                }
            }
        }
        for ((value, column), channel) in values.iter().zip(&mut data.columns).zip(data.schema.channels()) {
            match (value, column) {
                (Value::Real(x), Column::Real(values)) => values.push(*x),
                (Value::Symbol(x), Column::Symbol(values)) => values.push(*x),
                (Value::Bag(bag), Column::Bag(rows)) => {
                    rows.push(summed(bag, channel.kind.alphabet()).iter().copied());
                }
                _ => unreachable!("the kinds were compared above"),
            }
        }
        data.labels.push(label);
        Ok(())
    }

    /// Closes the open sequence as a chain; it may be empty.
    pub fn end_chain(&mut self) -> Result<()> {
        let schema = &self.data.schema;
        if schema.relations().first().is_none_or(|next| (next.tail, next.head) != (0, 0)) {
            return Err(Error::data("chains need a first relation from the first kind of node to itself"));
        }
        let n_labels = schema.n_labels(0);
        self.end(1.0, None, |_| n_labels)
    }

    /// Closes the open sequence as a graph over its positions.
    pub fn end_graph(&mut self, graph: Graph) -> Result<()> {
        let cards: Vec<usize> = (0..graph.kinds().len()).map(|n| Shape::Graph(&graph).card(n)).collect();
        let open = self.data.labels.len() - self.data.starts[self.data.len()];
        if cards.len() != open {
            return Err(Error::data(format!("the graph has {} nodes for {open} positions", cards.len())));
        }
        self.end(1.0, Some(graph), |n| cards[n])
    }

    fn end(&mut self, weight: f64, graph: Option<Graph>, n_labels: impl Fn(usize) -> usize) -> Result<()> {
        let data = &mut self.data;
        let start = data.starts[data.starts.len() - 1];
        for (n, label) in data.labels[start..].iter().enumerate() {
            if let Some(label) = label.filter(|&label| label < FOREIGN && label as usize >= n_labels(n)) {
                let location = format!("sequence {}, position {}", data.starts.len(), n + 1);
                return Err(Error::data(format!(
                    "label number {label}, but there are {} labels",
                    n_labels(n)
                ))
                .at(location));
            }
        }
        if graph.is_some() == data.graphs.is_empty() && !data.weights.is_empty() {
            return Err(Error::data("chains and graphs cannot be mixed in one dataset"));
        }
        data.graphs.extend(graph);
        data.weights.push(weight);
        data.starts.push(data.labels.len());
        Ok(())
    }

    /// Sets the weight of the sequence closed last; the default is 1.
    pub fn weigh_last(&mut self, weight: f64) -> Result<()> {
        *self.data.weights.last_mut().ok_or_else(|| Error::data("no sequence was closed yet"))? =
            checked_weight(weight)?;
        Ok(())
    }

    /// Returns the dataset; panics if a sequence is still open.
    pub fn finish(self) -> Dataset {
        assert_eq!(
            self.data.starts.last(),
            Some(&self.data.labels.len()),
            "the last sequence was not closed"
        );
        self.data
    }
}

/// Upper limit of the bags that are searched for repetitions pair by pair.
const SMALL_BAG: usize = 16;

/// Attributes with the values of repeated ones summed, so that no prototype meets a repetition.
///
/// Attributes that the alphabet does not have stay as they are: no function looks at them.
fn summed<'a>(bag: &'a [(u32, f64)], alphabet: Option<&Alphabet>) -> Cow<'a, [(u32, f64)]> {
    let repeats = if bag.len() <= SMALL_BAG {
        bag.iter().enumerate().any(|(k, (attribute, _))| bag[..k].iter().any(|(other, _)| other == attribute))
    } else {
        let mut attributes: Vec<u32> = bag.iter().map(|&(attribute, _)| attribute).collect();
        attributes.sort_unstable();
        attributes.windows(2).any(|pair| pair[0] == pair[1])
    };
    if !repeats {
        return Cow::Borrowed(bag);
    }
    let n_known = alphabet.map_or(0, Alphabet::len);
    let mut place = HashMap::new();
    let mut all: Vec<(u32, f64)> = Vec::with_capacity(bag.len());
    for &(attribute, value) in bag {
        let known = (attribute as usize) < n_known;
        let at = if known { *place.entry(attribute).or_insert(all.len()) } else { all.len() };
        match all.get_mut(at) {
            Some((_, sum)) => *sum += value,
            None => all.push((attribute, value)),
        }
    }
    Cow::Owned(all)
}
