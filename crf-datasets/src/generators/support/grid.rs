use crf_core::{Alphabet, Channel, Edge, NodeKind, Relation, Result, Rng, Schema, require};
use rand::RngExt as _;

use crate::generators::support::by_score;
use crate::generators::support::size::Size;
use crate::generators::support::splits::Parts;

/// Grids of nodes, row by row, joined to their right and lower neighbours by the relations `right` and `down`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// How many grids the parts of a trial have.
    pub(crate) train: usize,
    pub(crate) holdout: Option<usize>,
    pub(crate) test: usize,
}

impl Grid {
    /// Refuses grids without a node and grids beyond all measure, and parts of a trial without a grid.
    pub(crate) fn check(self) -> Result<()> {
        for (key, side) in [("rows", self.rows), ("columns", self.columns)] {
            require((1..=10_000).contains(&side), key, "between 1 and 10,000", side)?;
        }
        let parts = [("train", self.train), ("holdout", self.holdout.unwrap_or(1)), ("test", self.test)];
        parts.into_iter().try_for_each(|(key, count)| require(count > 0, key, "at least 1", count))
    }

    /// The sizes of the parts of a trial.
    pub(crate) fn parts(self) -> Parts {
        let size = |sequences| Size { sequences, length: self.rows * self.columns };
        Parts { train: size(self.train), holdout: self.holdout.map(size), test: size(self.test) }
    }

    /// What grids with such channels and labels carry.
    pub(crate) fn schema(channels: Vec<Channel>, labels: Alphabet) -> Result<Schema> {
        let relation = |name: &str| Relation { name: name.into(), tail: 0, head: 0 };
        let kinds = vec![NodeKind { name: "label".into(), labels }];
        Schema::graph(channels, kinds, vec![relation("right"), relation("down")])
    }

    /// All edges, node by node: first to the right, then down.
    pub(crate) fn edges(self) -> Vec<Edge> {
        let (rows, columns) = (self.rows as u32, self.columns as u32);
        let of = |u: u32| {
            let right = (u % columns + 1 < columns).then_some(Edge { u, v: u + 1, relation: 0 });
            let down = (u / columns + 1 < rows).then_some(Edge { u, v: u + columns, relation: 1 });
            right.into_iter().chain(down)
        };
        (0..rows * columns).flat_map(of).collect()
    }
}

/// p(y) ∝ exp(Σ_n fields(n, y_n) + Σ_e couplings(e) (y_u = y_v)).
#[derive(Debug)]
pub(crate) struct Potts<'a> {
    pub(crate) edges: &'a [Edge],
    pub(crate) couplings: &'a [f64],
    /// `[nodes × labels]`
    pub(crate) fields: &'a [f64],
    pub(crate) labels: usize,
}

impl Potts<'_> {
    /// Labels after so many sweeps of Gibbs sampling, node after node from a uniform start (Geman & Geman 1984).
    pub(crate) fn draw(&self, sweeps: usize, rng: &mut Rng) -> Vec<usize> {
        let mut neighbours = vec![Vec::with_capacity(4); self.fields.len() / self.labels];
        for (edge, &coupling) in self.edges.iter().zip(self.couplings) {
            neighbours[edge.u as usize].push((edge.v as usize, coupling));
            neighbours[edge.v as usize].push((edge.u as usize, coupling));
        }
        let mut y: Vec<usize> = neighbours.iter().map(|_| rng.random_range(0..self.labels)).collect();
        let mut scores = vec![0.0; self.labels];
        for _ in 0..sweeps {
            for (n, around) in neighbours.iter().enumerate() {
                scores.copy_from_slice(&self.fields[n * self.labels..(n + 1) * self.labels]);
                around.iter().for_each(|&(m, coupling)| scores[y[m]] += coupling);
                y[n] = by_score::draw(&mut scores, rng);
            }
        }
        y
    }
}
