use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::schema::Schema;

/// An edge from node `u` to node `v`; its table has `u`'s labels as rows and `v`'s as columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// The tail.
    pub u: u32,
    /// The head.
    pub v: u32,
    /// The relation, a number into [`Schema::relations`].
    pub relation: u16,
}

/// The nodes and edges of one instance that is not a chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    kinds: Vec<u16>,
    edges: Vec<Edge>,
    cards: Vec<u32>,     // [nodes] labels of each node
    node_at: Vec<usize>, // [nodes + 1] where a node's labels start in an array over all of them
    edge_at: Vec<usize>, // [edges + 1] where an edge's table starts in an array over all of them
}

impl Graph {
    /// A graph over nodes of the given kinds.
    ///
    /// Self-loops, edges to missing nodes and edges between kinds that the relation does not join are refused.
    /// Parallel edges are allowed: their scores add up.
    pub fn new(schema: &Schema, kinds: Vec<u16>, edges: Vec<Edge>) -> Result<Self> {
        if let Some(kind) = kinds.iter().find(|&&kind| kind as usize >= schema.kinds().len()) {
            return Err(Error::data(format!(
                "a node has kind {kind}, but there are {}",
                schema.kinds().len()
            )));
        }
        for (e, edge) in edges.iter().enumerate() {
            let Edge { u, v, relation } = *edge;
            let Some(joins) = schema.relations().get(relation as usize) else {
                return Err(Error::data(format!(
                    "edge {e} has relation {relation}, but there are {}",
                    schema.relations().len()
                )));
            };
            let ends = (kinds.get(u as usize), kinds.get(v as usize));
            if u == v || ends != (Some(&joins.tail), Some(&joins.head)) {
                return Err(Error::data(format!(
                    "edge {e} from node {u} to node {v} is a self-loop, leaves the {} nodes, or joins kinds that `{}` does not",
                    kinds.len(),
                    joins.name
                )));
            }
        }
        let cards: Vec<u32> = kinds.iter().map(|&kind| schema.n_labels(kind) as u32).collect();
        let node_at = offsets(cards.iter().map(|&card| card as usize));
        let edge_at =
            offsets(edges.iter().map(|e| cards[e.u as usize] as usize * cards[e.v as usize] as usize));
        Ok(Graph { kinds, edges, cards, node_at, edge_at })
    }

    /// The kind of each node.
    pub fn kinds(&self) -> &[u16] {
        &self.kinds
    }

    /// All edges.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }
}

/// Running sums with a leading zero: where each of several pieces starts, and where the last one ends.
pub(crate) fn offsets(sizes: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut at = vec![0];
    let mut end = 0;
    for size in sizes {
        end += size;
        at.push(end);
    }
    at
}

/// The graph of one instance: a chain, which needs no arrays, or any other.
#[derive(Debug, Clone, Copy)]
pub enum Shape<'a> {
    /// `len` nodes of `labels` labels each, edge `e` from node `e` to node `e + 1`.
    Chain {
        /// Number of nodes.
        len: usize,
        /// Labels of every node.
        labels: usize,
    },
    /// Anything else.
    Graph(&'a Graph),
}

impl Shape<'_> {
    /// How many nodes there are.
    pub fn n_nodes(&self) -> usize {
        match self {
            Shape::Chain { len, .. } => *len,
            Shape::Graph(graph) => graph.kinds.len(),
        }
    }

    /// How many edges there are.
    pub fn n_edges(&self) -> usize {
        match self {
            Shape::Chain { len, .. } => len.saturating_sub(1),
            Shape::Graph(graph) => graph.edges.len(),
        }
    }

    /// How many labels node `n` can take.
    pub fn card(&self, n: usize) -> usize {
        match self {
            Shape::Chain { labels, .. } => *labels,
            Shape::Graph(graph) => graph.cards[n] as usize,
        }
    }

    /// Where the labels of node `n` start in an array over all nodes; `n_nodes` gives its size.
    pub fn node_at(&self, n: usize) -> usize {
        match self {
            Shape::Chain { labels, .. } => n * labels,
            Shape::Graph(graph) => graph.node_at[n],
        }
    }

    /// Where the table of edge `e` starts in an array over all edges; `n_edges` gives its size.
    pub fn edge_at(&self, e: usize) -> usize {
        match self {
            Shape::Chain { labels, .. } => e * labels * labels,
            Shape::Graph(graph) => graph.edge_at[e],
        }
    }

    /// The two ends of edge `e`.
    pub fn ends(&self, e: usize) -> (usize, usize) {
        match self {
            Shape::Chain { .. } => (e, e + 1),
            Shape::Graph(graph) => (graph.edges[e].u as usize, graph.edges[e].v as usize),
        }
    }

    /// The relation of edge `e`.
    pub fn relation(&self, e: usize) -> u16 {
        match self {
            Shape::Chain { .. } => 0,
            Shape::Graph(graph) => graph.edges[e].relation,
        }
    }

    /// The kind of node `n`.
    pub fn kind(&self, n: usize) -> u16 {
        match self {
            Shape::Chain { .. } => 0,
            Shape::Graph(graph) => graph.kinds[n],
        }
    }
}
