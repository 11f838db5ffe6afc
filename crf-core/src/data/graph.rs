use serde::{Deserialize, Serialize};

use crate::data::schema::Schema;
use crate::error::{Error, Result};

/// Edge from node `u` to node `v`; its table has `u`'s labels as rows and `v`'s as columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// Tail.
    pub u: u32,
    /// Head.
    pub v: u32,
    /// Index of the relation in [`Schema::relations`].
    pub relation: u16,
}

/// Incidence of a node and an edge, seen from the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incidence {
    /// Index of the edge.
    pub edge: u32,
    /// Node at the other end.
    pub other: u32,
    /// Offset of the message to the other end in an array of messages, see
    /// [`Shape::message_offset`].
    pub opposite: usize,
    /// True if the node is the head of the edge, whose table then has this node's labels as
    /// columns.
    pub is_head: bool,
}

/// Graph of one instance that is not a chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredGraph", into = "StoredGraph")]
pub struct Graph {
    kinds: Vec<u16>,
    edges: Vec<Edge>,
    cards: Vec<u32>,               // [nodes] number of labels
    node_offsets: Vec<usize>,      // [nodes + 1] offset of a node's labels in an array over all of them
    edge_offsets: Vec<usize>,      // [edges + 1] offset of an edge's table in an array over all of them
    incidence: Vec<Incidence>,     // [2 × edges] ends of all edges, node by node
    incidence_offsets: Vec<usize>, // [nodes + 1] offset of a node's ends
    message_offsets: Vec<usize>,   // [nodes + 1] offset of a node's messages
}

/// Stored form of a graph; reading it repeats the checks.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredGraph {
    kinds: Vec<u16>,
    cards: Vec<u32>,
    edges: Vec<Edge>,
}

impl From<Graph> for StoredGraph {
    fn from(graph: Graph) -> Self {
        StoredGraph { kinds: graph.kinds, cards: graph.cards, edges: graph.edges }
    }
}

impl TryFrom<StoredGraph> for Graph {
    type Error = Error;

    fn try_from(stored: StoredGraph) -> Result<Self> {
        Graph::build(stored.kinds, stored.cards, stored.edges)
    }
}

impl Graph {
    /// Builds a graph over nodes of the given kinds.
    ///
    /// Self-loops, edges to missing nodes and edges between kinds that the relation does not join
    /// are errors. Parallel edges are allowed: their scores add up.
    pub fn new(schema: &Schema, kinds: Vec<u16>, edges: Vec<Edge>) -> Result<Self> {
        if let Some(kind) = kinds.iter().find(|&&kind| kind as usize >= schema.kinds().len()) {
            return Err(Error::data(format!(
                "a node has kind {kind}, but there are {}",
                schema.kinds().len()
            )));
        }
        let cards = kinds.iter().map(|&kind| schema.n_labels(kind) as u32).collect();
        let graph = Graph::build(kinds, cards, edges)?;
        for (e, &Edge { u, v, relation }) in graph.edges.iter().enumerate() {
            let Some(joins) = schema.relations().get(relation as usize) else {
                return Err(Error::data(format!(
                    "edge {e} has relation {relation}, but there are {}",
                    schema.relations().len()
                )));
            };
            let kind = |n: u32| graph.kinds[n as usize];
            if (kind(u), kind(v)) != (joins.tail, joins.head) {
                return Err(Error::data(format!(
                    "edge {e} from node {u} to node {v} joins kinds that `{}` does not",
                    joins.name
                )));
            }
        }
        Ok(graph)
    }

    /// Builds a graph without a schema, from the number of labels of each node and the tail and
    /// head of each edge.
    ///
    /// Every node is of kind 0 and every edge of relation 0. The errors are those of
    /// [`Graph::new`].
    pub fn bare(cards: Vec<u32>, edges: impl IntoIterator<Item = (u32, u32)>) -> Result<Self> {
        let edges = edges.into_iter().map(|(u, v)| Edge { u, v, relation: 0 }).collect();
        Graph::build(vec![0; cards.len()], cards, edges)
    }

    fn build(kinds: Vec<u16>, cards: Vec<u32>, edges: Vec<Edge>) -> Result<Self> {
        if kinds.len() != cards.len() {
            return Err(Error::data(format!("{} nodes have {} numbers of labels", kinds.len(), cards.len())));
        }
        if let Some(n) = cards.iter().position(|&card| card == 0) {
            return Err(Error::data(format!("node {n} has no labels")));
        }
        for (e, &Edge { u, v, .. }) in edges.iter().enumerate() {
            if u == v {
                return Err(Error::data(format!(
                    "edge {e} joins node {u} with itself; add its diagonal to the node's potentials instead"
                )));
            }
            let missing = [u, v].into_iter().find(|&n| n as usize >= cards.len());
            if let Some(n) = missing {
                return Err(Error::data(format!(
                    "edge {e} leads to node {n}, but there are {}",
                    cards.len()
                )));
            }
        }
        let card = |n: u32| cards[n as usize] as usize;
        let node_offsets = offsets(cards.iter().map(|&card| card as usize));
        let edge_offsets = offsets(edges.iter().map(|e| card(e.u).saturating_mul(card(e.v))));
        let mut degrees = vec![0; cards.len()];
        edges.iter().flat_map(|e| [e.u, e.v]).for_each(|n| degrees[n as usize] += 1);
        let message_offsets =
            offsets(degrees.iter().zip(&cards).map(|(&degree, &card)| degree * card as usize));
        let incidence_offsets = offsets(degrees);
        let mut incidence =
            vec![Incidence { edge: 0, other: 0, opposite: 0, is_head: false }; 2 * edges.len()];
        let mut filled = vec![0; cards.len()];
        for (e, edge) in edges.iter().enumerate() {
            for (n, other, is_head) in [(edge.u, edge.v, false), (edge.v, edge.u, true)] {
                let opposite = message_offsets[other as usize]
                    + card(other) * (filled[other as usize] - usize::from(is_head));
                incidence[incidence_offsets[n as usize] + filled[n as usize]] =
                    Incidence { edge: e as u32, other, opposite, is_head };
                filled[n as usize] += 1;
            }
        }
        Ok(Graph {
            kinds,
            edges,
            cards,
            node_offsets,
            edge_offsets,
            incidence,
            incidence_offsets,
            message_offsets,
        })
    }

    /// Kind of each node.
    pub fn kinds(&self) -> &[u16] {
        &self.kinds
    }

    /// All edges.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }
}

/// Offsets of consecutive items of the given sizes: running sums with a leading zero. The last one
/// is the end.
pub fn offsets(sizes: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut offsets = vec![0];
    let mut end: usize = 0;
    for size in sizes {
        end = end.saturating_add(size);
        offsets.push(end);
    }
    offsets
}

/// Graph of one instance: a chain, which needs no arrays, or any other graph.
#[derive(Debug, Clone, Copy)]
pub enum Shape<'a> {
    /// `len` nodes of `labels` labels each, edge `e` from node `e` to node `e + 1`.
    Chain {
        /// Number of nodes.
        len: usize,
        /// Number of labels of every node.
        labels: usize,
    },
    /// Any other graph.
    Graph(&'a Graph),
}

impl Shape<'_> {
    /// Number of nodes.
    #[inline]
    pub fn n_nodes(&self) -> usize {
        match self {
            Shape::Chain { len, .. } => *len,
            Shape::Graph(graph) => graph.cards.len(),
        }
    }

    /// Number of edges.
    #[inline]
    pub fn n_edges(&self) -> usize {
        match self {
            Shape::Chain { len, .. } => len.saturating_sub(1),
            Shape::Graph(graph) => graph.edges.len(),
        }
    }

    /// Number of labels of node `n`.
    #[inline]
    pub fn card(&self, n: usize) -> usize {
        match self {
            Shape::Chain { labels, .. } => *labels,
            Shape::Graph(graph) => graph.cards[n] as usize,
        }
    }

    /// Offset of the labels of node `n` in an array over all nodes; the offset of `n_nodes` is its
    /// size.
    #[inline]
    pub fn node_offset(&self, n: usize) -> usize {
        match self {
            Shape::Chain { labels, .. } => n * labels,
            Shape::Graph(graph) => graph.node_offsets[n],
        }
    }

    /// Offset of the table of edge `e` in an array over all edges; the offset of `n_edges` is its
    /// size.
    #[inline]
    pub fn edge_offset(&self, e: usize) -> usize {
        match self {
            Shape::Chain { labels, .. } => e * labels * labels,
            Shape::Graph(graph) => graph.edge_offsets[e],
        }
    }

    /// Tail and head of edge `e`.
    #[inline]
    pub fn ends(&self, e: usize) -> (usize, usize) {
        match self {
            Shape::Chain { .. } => (e, e + 1),
            Shape::Graph(graph) => (graph.edges[e].u as usize, graph.edges[e].v as usize),
        }
    }

    /// Relation of edge `e`.
    pub fn relation(&self, e: usize) -> u16 {
        match self {
            Shape::Chain { .. } => 0,
            Shape::Graph(graph) => graph.edges[e].relation,
        }
    }

    /// Kind of node `n`.
    pub fn kind(&self, n: usize) -> u16 {
        match self {
            Shape::Chain { .. } => 0,
            Shape::Graph(graph) => graph.kinds[n],
        }
    }

    /// Number of edges incident to node `n`.
    #[inline]
    pub fn degree(&self, n: usize) -> usize {
        match self {
            Shape::Chain { len, .. } => usize::from(n > 0) + usize::from(n + 1 < *len),
            Shape::Graph(graph) => graph.incidence_offsets[n + 1] - graph.incidence_offsets[n],
        }
    }

    /// The `k`-th edge incident to node `n`, in the order of edges.
    #[inline]
    pub fn incidence(&self, n: usize, k: usize) -> Incidence {
        match self {
            Shape::Chain { labels, .. } => {
                let is_head = k == 0 && n > 0;
                let other = if is_head { n - 1 } else { n + 1 };
                let edge = n.min(other);
                // A node's messages from the left precede those from the right.
                let from_left = usize::from(is_head && other > 0);
                let opposite = self.message_offset(other) + from_left * labels;
                Incidence { edge: edge as u32, other: other as u32, opposite, is_head }
            }
            Shape::Graph(graph) => graph.incidence[graph.incidence_offsets[n] + k],
        }
    }

    /// Offset of the messages at node `n` in an array over all of them; the offset of `n_nodes` is
    /// its size.
    ///
    /// A node has one message per incident edge, one after the other, each over the node's labels.
    #[inline]
    pub fn message_offset(&self, n: usize) -> usize {
        match self {
            Shape::Chain { len, labels } => (2 * n).saturating_sub(1).min(2 * len.saturating_sub(1)) * labels,
            Shape::Graph(graph) => graph.message_offsets[n],
        }
    }
}
