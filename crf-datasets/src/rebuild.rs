use std::ops::Range;
use std::sync::Arc;

use crf_core::{ChannelKind, Dataset, DatasetBuilder, Edge, Graph, Result, Schema, Shape, Value};

/// Edges of a shape, in order.
pub(crate) fn edges_of(shape: Shape<'_>) -> impl Iterator<Item = Edge> {
    (0..shape.n_edges()).map(move |e| {
        let (u, v) = shape.ends(e);
        Edge { u: u as u32, v: v as u32, relation: shape.relation(e) }
    })
}

/// The same sequences with other edges: `edges(i)` gives those of sequence i. All nodes are of one
/// kind.
///
/// `schema` has the channels and labels of the data, and the relations of the edges.
pub(crate) fn with_edges(
    data: &Dataset,
    schema: &Arc<Schema>,
    mut edges: impl FnMut(usize) -> Result<Vec<Edge>>,
) -> Result<Dataset> {
    let mut out = DatasetBuilder::new(schema.clone());
    for i in 0..data.len() {
        copy(data, i, 0..data.range(i).len(), &mut out)?;
        let graph = Graph::new(schema, vec![0; data.range(i).len()], edges(i)?);
        out.end_graph(graph.map_err(|error| error.at(format!("sequence {}", i + 1)))?)?;
        out.weigh_last(data.weight(i))?;
    }
    Ok(out.finish())
}

/// Concatenation of datasets that have one schema.
pub(crate) fn concatenated<'a>(
    datasets: impl IntoIterator<Item = &'a Dataset>,
    schema: &Arc<Schema>,
) -> Result<Dataset> {
    let mut out = DatasetBuilder::new(schema.clone());
    for data in datasets {
        for i in 0..data.len() {
            copy(data, i, 0..data.range(i).len(), &mut out)?;
            match data.shape(i) {
                Shape::Graph(graph) => out.end_graph(graph.clone())?,
                Shape::Chain { .. } => out.end_chain()?,
            }
            out.weigh_last(data.weight(i))?;
        }
    }
    Ok(out.finish())
}

/// Every position of the data as a sequence of its own, without edges.
pub(crate) fn single_positions(data: &Dataset) -> Result<Dataset> {
    let schema = data.schema();
    let mut out = DatasetBuilder::new(schema.clone());
    for i in 0..data.len() {
        let shape = data.shape(i);
        for t in 0..data.range(i).len() {
            copy(data, i, t..t + 1, &mut out)?;
            match shape {
                Shape::Graph(_) => out.end_graph(Graph::new(schema, vec![shape.kind(t)], Vec::new())?)?,
                Shape::Chain { .. } => out.end_chain()?,
            }
            out.weigh_last(data.weight(i))?;
        }
    }
    Ok(out.finish())
}

/// Appends positions of sequence `i` to the open sequence; labels and symbols that the schema lacks
/// keep their names.
fn copy(data: &Dataset, i: usize, positions: Range<usize>, out: &mut DatasetBuilder) -> Result<()> {
    let x = data.sequence(i);
    let channels = data.schema().channels();
    let mut bags = vec![Vec::new(); channels.len()];
    for t in positions {
        for (c, channel) in channels.iter().enumerate() {
            if let ChannelKind::Bag(_) = channel.kind {
                bags[c].clear();
                x.for_each_in_bag(c, t, |attribute, value| bags[c].push((attribute, value)));
            }
        }
        let values = channels.iter().enumerate().map(|(c, channel)| match &channel.kind {
            ChannelKind::Real => Value::Real(x.real(c)[t]),
            ChannelKind::Bag(_) => Value::Bag(&bags[c]),
            ChannelKind::Symbol(known) => match x.symbol(c)[t] {
                symbol if (symbol as usize) < known.len() => Value::Symbol(symbol),
                unseen => Value::Symbol(x.symbol_name(c, unseen).map_or(unseen, |name| out.symbol(c, name))),
            },
        });
        let values: Vec<Value<'_>> = values.collect();
        let label = x.labels()[t].map(|label| match Dataset::is_foreign(label) {
            true => out.label(data.label_name(0, label)),
            false => label,
        });
        out.push(&values, label)?;
    }
    Ok(())
}
