use crf_core::{Alphabet, Channel, Edge, NodeKind, Relation, Result, Rng, Schema, require, require_memory};
use rand::RngExt as _;

use crate::generators::support::draws::draw_by_score;
use crate::generators::support::splits::{Size, SplitSizes};

/// Grid graph: nodes in row-major order, joined to their right and lower neighbours by the
/// relations `right` and `down`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Number of grids per split.
    pub(crate) train: usize,
    pub(crate) holdout: Option<usize>,
    pub(crate) test: usize,
}

impl Grid {
    /// Refuses grids without a node, sides above 10,000, and splits without a grid.
    pub(crate) fn check(self) -> Result<()> {
        for (key, side) in [("rows", self.rows), ("columns", self.columns)] {
            require((1..=10_000).contains(&side), key, "between 1 and 10,000", side)?;
        }
        let splits = [("train", self.train), ("holdout", self.holdout.unwrap_or(1)), ("test", self.test)];
        splits.into_iter().try_for_each(|(key, count)| require(count > 0, key, "at least 1", count))
    }

    /// Sizes of the splits, in sequences and nodes.
    pub(crate) fn sizes(self) -> SplitSizes {
        let size = |sequences| Size { sequences, length: self.rows * self.columns };
        SplitSizes { train: size(self.train), holdout: self.holdout.map(size), test: size(self.test) }
    }

    /// Schema of grids with the given channels and labels.
    pub(crate) fn schema(channels: Vec<Channel>, labels: Alphabet) -> Result<Schema> {
        let relation = |name: &str| Relation { name: name.into(), tail: 0, head: 0 };
        let kinds = vec![NodeKind { name: "label".into(), labels }];
        Schema::graph(channels, kinds, vec![relation("right"), relation("down")])
    }

    /// All edges, node by node: first to the right, then down.
    ///
    /// Refuses grids that would not fit into the memory with the fields of so many labels.
    pub(crate) fn edges(self, n_labels: usize) -> Result<Vec<Edge>> {
        // Two edges a node: in this list, around both ends while labels are drawn, and in the graph
        // of each sequence.
        let n_grids = self.train as f64 + self.holdout.unwrap_or(0) as f64 + self.test as f64;
        let bytes_of_node = 8.0 * n_labels as f64 + 160.0 + 64.0 * n_grids;
        let bytes = (self.rows * self.columns) as f64 * bytes_of_node;
        require_memory(bytes, "the grids", "use fewer or smaller ones, or fewer labels")?;
        let (rows, columns) = (self.rows as u32, self.columns as u32);
        let edges_from = |u: u32| {
            let right = (u % columns + 1 < columns).then_some(Edge { u, v: u + 1, relation: 0 });
            let down = (u / columns + 1 < rows).then_some(Edge { u, v: u + columns, relation: 1 });
            right.into_iter().chain(down)
        };
        Ok((0..rows * columns).flat_map(edges_from).collect())
    }
}

/// Refuses numbers of sweeps that nobody means.
pub(crate) fn check_sweeps(sweeps: usize) -> Result<()> {
    require(sweeps > 0, "sweeps", "at least 1", sweeps)?;
    require(sweeps <= 1_000_000, "sweeps", "at most 1,000,000", sweeps)
}

/// Potts model: p(y) ∝ exp(Σ_n fields(n, y_n) + Σ_e couplings(e) (y_u = y_v)).
#[derive(Debug)]
pub(crate) struct Potts<'a> {
    pub(crate) edges: &'a [Edge],
    pub(crate) couplings: &'a [f64],
    /// `[nodes × labels]`
    pub(crate) fields: &'a [f64],
    pub(crate) n_labels: usize,
}

impl Potts<'_> {
    /// Draws labels by `sweeps` sweeps of Gibbs sampling in the order of the nodes, from a uniform
    /// start (Geman & Geman 1984).
    pub(crate) fn draw(&self, sweeps: usize, rng: &mut Rng) -> Vec<usize> {
        let mut neighbours = vec![Vec::with_capacity(4); self.fields.len() / self.n_labels];
        for (edge, &coupling) in self.edges.iter().zip(self.couplings) {
            neighbours[edge.u as usize].push((edge.v as usize, coupling));
            neighbours[edge.v as usize].push((edge.u as usize, coupling));
        }
        let mut y: Vec<usize> = neighbours.iter().map(|_| rng.random_range(0..self.n_labels)).collect();
        let mut scores = vec![0.0; self.n_labels];
        for _ in 0..sweeps {
            for (n, around) in neighbours.iter().enumerate() {
                scores.copy_from_slice(&self.fields[n * self.n_labels..(n + 1) * self.n_labels]);
                around.iter().for_each(|&(m, coupling)| scores[y[m]] += coupling);
                y[n] = draw_by_score(&mut scores, rng);
            }
        }
        y
    }
}
