use std::ops::Range;
use std::sync::Arc;

use crate::data::graph::{Graph, Shape};
use crate::data::schema::{ChannelKind, Schema};
use crate::data::sparse_rows::SparseRows;
use crate::error::{Error, Result, require};
use crate::{Alphabet, Label, Seed};

/// Dataset: sequences or graphs of positions with observations, and labels where they are known.
///
/// Stored column by column over all positions of all sequences, so that a channel is one contiguous
/// array.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    pub(super) schema: Arc<Schema>,
    pub(super) starts: Vec<usize>, // [sequences + 1]
    pub(super) columns: Vec<Column>,
    pub(super) labels: Vec<Option<Label>>, // [positions]
    pub(super) weights: Vec<f64>,          // [sequences]
    pub(super) graphs: Vec<Graph>,         // [sequences], or empty when all are chains
    pub(super) foreign: Alphabet,          // labels that the schema does not have
    pub(super) unseen: Vec<Alphabet>,      // [channels] symbols that the schema does not have
}

/// Values of one channel at all positions.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Finite numbers.
    Real(Vec<f64>),
    /// Indices of symbols in the channel's alphabet.
    Symbol(Vec<u32>),
    /// Attributes of the channel's alphabet with their values, one row per position.
    Bag(SparseRows),
}

/// Value of one channel at one position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// A finite number.
    Real(f64),
    /// Index of a symbol.
    Symbol(u32),
    /// Indices of attributes, each with a finite value.
    Bag(&'a [(u32, f64)]),
}

/// Rejects a sequence weight that is negative or not finite.
pub(super) fn checked_weight(weight: f64) -> Result<f64> {
    require(weight.is_finite() && weight >= 0.0, "weight", "a finite number of at least 0", weight)?;
    Ok(weight)
}

/// First index of foreign labels: they occur in the data, but the schema and so the model does not
/// have them.
pub(super) const FOREIGN: Label = 1 << 31;

impl Dataset {
    /// Dataset of the given schema without sequences.
    pub(super) fn empty(schema: Arc<Schema>) -> Self {
        let columns = schema.channels().iter().map(|channel| match channel.kind {
            ChannelKind::Real => Column::Real(Vec::new()),
            ChannelKind::Symbol(_) => Column::Symbol(Vec::new()),
            ChannelKind::Bag(_) => Column::Bag(SparseRows::default()),
        });
        let columns = columns.collect();
        Dataset {
            starts: vec![0],
            columns,
            labels: Vec::new(),
            weights: Vec::new(),
            graphs: Vec::new(),
            foreign: Alphabet::default(),
            unseen: vec![Alphabet::default(); schema.channels().len()],
            schema,
        }
    }

    /// Schema of the data: channels, labels and relations.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Number of sequences.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// True if there is no sequence.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of positions of all sequences together.
    pub fn n_positions(&self) -> usize {
        self.labels.len()
    }

    /// Range of sequence `i` in the arrays over all positions.
    pub fn range(&self, i: usize) -> Range<usize> {
        self.starts[i]..self.starts[i + 1]
    }

    /// Labels of all positions, `None` where unknown.
    pub fn labels(&self) -> &[Option<Label>] {
        &self.labels
    }

    /// True if the schema does not have the label; such a label counts as an error whatever is
    /// predicted.
    pub fn is_foreign(label: Label) -> bool {
        label >= FOREIGN
    }

    /// Name of a label of a node of the given kind; foreign labels have names too.
    pub fn label_name(&self, kind: u16, label: Label) -> &str {
        match label.checked_sub(FOREIGN) {
            Some(foreign) => self.foreign.name(foreign),
            None => self.schema.kinds()[kind as usize].labels.name(label),
        }
    }

    /// Name of a symbol, whether the schema has it or not.
    ///
    /// Attributes of bags that the schema does not have keep no name.
    pub fn symbol_name(&self, channel: usize, symbol: u32) -> Option<&str> {
        let known = self.schema.channels()[channel].kind.alphabet()?;
        match (symbol as usize).checked_sub(known.len()) {
            None => Some(known.name(symbol)),
            Some(unseen) if unseen < self.unseen[channel].len() => {
                Some(self.unseen[channel].name(unseen as u32))
            }
            Some(_) => None,
        }
    }

    /// Number of positions with a foreign label.
    pub fn n_foreign(&self) -> usize {
        self.labels.iter().flatten().filter(|&&label| Dataset::is_foreign(label)).count()
    }

    /// Weight of sequence `i`.
    pub fn weight(&self, i: usize) -> f64 {
        self.weights[i]
    }

    /// Copies the data and gives sequence `i` the weight `weight(i)`.
    pub fn reweighted(&self, weight: impl FnMut(usize) -> f64) -> Result<Self> {
        let weights = (0..self.len()).map(weight).map(checked_weight).collect::<Result<_>>()?;
        Ok(Dataset { weights, ..self.clone() })
    }

    /// Sequence `i`.
    pub fn sequence(&self, i: usize) -> Sequence<'_> {
        Sequence { data: self, range: self.range(i) }
    }

    /// Graph of sequence `i`.
    pub fn shape(&self, i: usize) -> Shape<'_> {
        match self.graphs.get(i) {
            Some(graph) => Shape::Graph(graph),
            None => Shape::Chain { len: self.range(i).len(), labels: self.schema.n_labels(0) },
        }
    }

    /// True if every sequence is a chain.
    pub fn is_chains(&self) -> bool {
        self.graphs.is_empty()
    }

    /// Indices of the sequences in part number `part` of `of` equal parts, counted from 1.
    pub fn part(&self, part: usize, of: usize) -> Result<Range<usize>> {
        require((1..=of).contains(&part), "part", &format!("from 1 to {of}"), part)?;
        if !self.len().is_multiple_of(of) {
            return Err(Error::data(format!("{} sequences do not make {of} equal parts", self.len())));
        }
        let size = self.len() / of;
        Ok((part - 1) * size..part * size)
    }

    /// Copies the sequences with the given indices, in that order.
    pub fn subset(&self, sequences: &[usize]) -> Dataset {
        let mut part = Dataset::empty(self.schema.clone());
        for &i in sequences {
            let range = self.range(i);
            for (to, from) in part.columns.iter_mut().zip(&self.columns) {
                match (to, from) {
                    (Column::Real(to), Column::Real(from)) => to.extend_from_slice(&from[range.clone()]),
                    (Column::Symbol(to), Column::Symbol(from)) => to.extend_from_slice(&from[range.clone()]),
                    (Column::Bag(to), Column::Bag(from)) => range.clone().for_each(|t| to.push_row(from, t)),
                    _ => unreachable!("both datasets have one schema"),
                }
            }
            part.labels.extend_from_slice(&self.labels[range]);
            part.starts.push(part.labels.len());
            part.weights.push(self.weights[i]);
            part.graphs.extend(self.graphs.get(i).cloned());
        }
        part.foreign = self.foreign.clone();
        part.unseen = self.unseen.clone();
        part
    }

    /// Indices of all sequences in an order drawn from `seed`, for splits and epochs.
    pub fn shuffled(&self, seed: &Seed) -> Vec<usize> {
        use rand::seq::SliceRandom as _;
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.shuffle(&mut seed.rng());
        order
    }
}

/// Sequence of a dataset, as encoders read it.
#[derive(Debug, Clone)]
pub struct Sequence<'a> {
    data: &'a Dataset,
    range: Range<usize>,
}

impl<'a> Sequence<'a> {
    /// Number of positions.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// True if there is no position.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// View of a range of positions as a sequence of its own.
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        let range = self.range.start + range.start..self.range.start + range.end;
        Sequence { data: self.data, range }
    }

    /// Values of a real channel; panics on other channels.
    pub fn real(&self, channel: usize) -> &'a [f64] {
        match &self.data.columns[channel] {
            Column::Real(values) => &values[self.range.clone()],
            _ => panic!("channel {channel} is not real"),
        }
    }

    /// Symbols of a symbolic channel; panics on other channels.
    pub fn symbol(&self, channel: usize) -> &'a [u32] {
        match &self.data.columns[channel] {
            Column::Symbol(values) => &values[self.range.clone()],
            _ => panic!("channel {channel} is not symbolic"),
        }
    }

    /// Calls `f` with every attribute of a bag channel at position `t` and its value; panics on
    /// other channels.
    pub fn for_each_in_bag(&self, channel: usize, t: usize, f: impl FnMut(u32, f64)) {
        match &self.data.columns[channel] {
            Column::Bag(rows) => rows.for_each(self.range.start + t, f),
            _ => panic!("channel {channel} is no bag"),
        }
    }

    /// Name of a symbol, whether the schema has it or not.
    pub fn symbol_name(&self, channel: usize, symbol: u32) -> Option<&'a str> {
        self.data.symbol_name(channel, symbol)
    }

    /// Labels of the positions, `None` where unknown.
    pub fn labels(&self) -> &'a [Option<Label>] {
        &self.data.labels[self.range.clone()]
    }
}
