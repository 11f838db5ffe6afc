use std::ops::ControlFlow;
use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Edge, Error, Label, Relation, Result, Schema,
    Value,
};

use crate::formats::label_name::is_label;
use crate::rebuild::{edges_of, with_edges};

/// Builder behind every format: collects positions and emits datasets in batches.
pub(crate) struct DatasetSink<'a> {
    name: String,
    schema: Option<&'a Arc<Schema>>,
    data: DatasetBuilder,
    batch: usize,
    emit: &'a mut dyn FnMut(Dataset) -> Result<ControlFlow<()>>,
    relations: Alphabet,
    edges: Vec<(usize, Vec<Edge>)>, // (index, edges) of the closed sequences that are graphs
    n_closed: usize,                // closed sequences that were not emitted yet
    n_closed_positions: usize,      // their positions
    n_open: usize,                  // positions of the open sequence
    any: bool,                      // true once a sequence was closed
}

/// Relation of chains, and of edges that name no relation.
pub(crate) const NEXT: &str = "next";

impl<'a> DatasetSink<'a> {
    /// Sink for data with the given channels, which must match the schema if there is one.
    pub(crate) fn new(
        name: &str,
        channels: Vec<Channel>,
        schema: Option<&'a Arc<Schema>>,
        batch: usize,
        emit: &'a mut dyn FnMut(Dataset) -> Result<ControlFlow<()>>,
    ) -> Result<Self> {
        let data = match schema {
            Some(schema) => {
                let kind = |channel: &Channel| std::mem::discriminant(&channel.kind);
                let same = |(a, b): (&Channel, &Channel)| a.name == b.name && kind(a) == kind(b);
                let known = schema.channels();
                if known.len() != channels.len() || !known.iter().zip(&channels).all(same) {
                    let (want, got) = (describe(known), describe(&channels));
                    return Err(Error::data(format!("{name}: expected {want}, got {got}")));
                }
                DatasetBuilder::new(schema.clone())
            }
            None => DatasetBuilder::growing(channels).map_err(|error| error.at(name))?,
        };
        let relations = match schema {
            Some(schema) => Alphabet::new(schema.relations().iter().map(|relation| &relation.name)),
            None => Alphabet::new([NEXT]),
        };
        Ok(DatasetSink {
            name: name.to_owned(),
            schema,
            data,
            batch,
            emit,
            relations,
            edges: Vec::new(),
            n_closed: 0,
            n_closed_positions: 0,
            n_open: 0,
            any: false,
        })
    }

    #[inline]
    pub(crate) fn symbol(&mut self, channel: usize, name: &str) -> u32 {
        self.data.symbol(channel, name)
    }

    /// Index of a label; `None` if the name cannot be one.
    pub(crate) fn label(&mut self, name: &str) -> Option<Label> {
        is_label(name).then(|| self.data.label(name))
    }

    /// Index of a relation; the error says which names are valid.
    pub(crate) fn relation(&mut self, name: &str) -> Result<u16, String> {
        if self.schema.is_none() && !name.is_empty() {
            return self.relations.intern(name).try_into().map_err(|_| "at most 65,536 relations".to_owned());
        }
        match self.relations.number(name) {
            Some(number) => Ok(number as u16),
            None if name.is_empty() => Err("the name of a relation".to_owned()),
            None => Err(format!("one of the relations {}", self.known_relations())),
        }
    }

    fn known_relations(&self) -> String {
        let known: Vec<String> = self.relations.names().iter().map(|name| format!("`{name}`")).collect();
        known.join(", ")
    }

    pub(crate) fn push(&mut self, values: &[Value<'_>], label: Option<Label>) -> Result<()> {
        self.n_open += 1;
        self.data.push(values, label)
    }

    /// Number of positions of the open sequence.
    pub(crate) fn n_open(&self) -> usize {
        self.n_open
    }

    /// Closes the open sequence as a chain, even one without positions, and emits the batch if it
    /// is full.
    pub(crate) fn end_chain(&mut self, weight: f64) -> Result<ControlFlow<()>> {
        if self.n_open > 1 && self.relations.number(NEXT) != Some(0) {
            let known = self.known_relations();
            let message = format!("expected sequences with edges of {known}, got a chain");
            return Err(Error::data(message).at(&self.name));
        }
        self.close(weight)
    }

    /// [`DatasetSink::end_chain`] for a graph, whose edges must join positions of the sequence.
    pub(crate) fn end_graph(&mut self, weight: f64, edges: Vec<Edge>) -> Result<ControlFlow<()>> {
        self.edges.push((self.n_closed, edges));
        self.close(weight)
    }

    fn close(&mut self, weight: f64) -> Result<ControlFlow<()>> {
        self.data.end_chain()?;
        self.data.weigh_last(weight)?;
        self.n_closed_positions += std::mem::take(&mut self.n_open);
        self.n_closed += 1;
        self.any = true;
        match self.schema {
            Some(schema) if self.n_closed_positions >= self.batch => {
                let full = std::mem::replace(&mut self.data, DatasetBuilder::new(schema.clone()));
                let edges = std::mem::take(&mut self.edges);
                self.n_closed_positions = 0;
                self.n_closed = 0;
                let data = with_graph_edges(full.finish(), edges, self.schema, &self.relations);
                (self.emit)(data.map_err(|error| error.at(&self.name))?)
            }
            _ => Ok(ControlFlow::Continue(())),
        }
    }

    /// Emits the remaining sequences; `on_empty` decides about a text without any sequence.
    pub(crate) fn finish(self, on_empty: impl FnOnce() -> Result<()>) -> Result<()> {
        if !self.any {
            return on_empty();
        }
        if self.n_closed > 0 {
            let data = with_graph_edges(self.data.finish(), self.edges, self.schema, &self.relations);
            let _ = (self.emit)(data.map_err(|error| error.at(&self.name))?)?;
        }
        Ok(())
    }
}

/// The data as graphs if any sequence has edges; the other sequences are chains.
fn with_graph_edges(
    data: Dataset,
    edges: Vec<(usize, Vec<Edge>)>,
    schema: Option<&Arc<Schema>>,
    relations: &Alphabet,
) -> Result<Dataset> {
    if edges.is_empty() {
        return Ok(data);
    }
    let schema = match schema {
        Some(schema) => schema.clone(),
        None if data.schema().labels().is_empty() => {
            return Err(Error::data(
                "graphs without a single label can be read with the schema of a model only",
            ));
        }
        None => {
            let (channels, kinds) = (data.schema().channels().to_vec(), data.schema().kinds().to_vec());
            let relation = |name: &str| Relation { name: name.to_owned(), tail: 0, head: 0 };
            Arc::new(Schema::graph(channels, kinds, relations.names().iter().map(relation).collect())?)
        }
    };
    let mut edges = edges.into_iter().peekable();
    with_edges(&data, &schema, |i| match edges.next_if(|&(sequence, _)| sequence == i) {
        Some((_, edges)) => Ok(edges),
        None => Ok(edges_of(data.shape(i)).collect()),
    })
}

/// Description of channels for messages.
fn describe(channels: &[Channel]) -> String {
    let one = |channel: &Channel| format!("`{}` ({})", channel.name, channel.kind.holds());
    match channels {
        [] => "no channel".to_owned(),
        [channel] => format!("the channel {}", one(channel)),
        _ => format!("the channels {}", channels.iter().map(one).collect::<Vec<_>>().join(", ")),
    }
}

/// The single channel of the formats that hold attributes.
pub(crate) fn attributes() -> Vec<Channel> {
    vec![Channel { name: "attributes".into(), kind: ChannelKind::Bag(Default::default()) }]
}
