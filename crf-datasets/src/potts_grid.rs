use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Edge, Graph, NodeKind, Relation, Result, Rng, Schema, Seed, Source,
    Splits, Value, require,
};
use rand::RngExt as _;
use rand_distr::Distribution as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::noise::noise;
use crate::parts::Parts;
use crate::size::Size;

/// Noisy images of smooth label fields: a Potts model on a grid (Geman & Geman 1984).
///
/// Labels 0, 1 … are drawn from p(y) ∝ exp(β · number of neighbours with equal labels) by Gibbs sampling, row by row
/// from a uniform start; every pixel shows its label plus normal noise in the real channel `brightness`. Nodes
/// are joined to their right and lower neighbours by the relations `right` and `down`. The true model is then
/// log-linear: brightness and intercept for each label, β on the diagonal of both relations.
///
/// A hundred sweeps come close to the model below the critical β, which is log(1 + √q) for q labels (0.88 for
/// two); above it the field freezes into patches of its start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PottsGrid {
    /// Rows of an image.
    pub rows: usize,
    /// Columns of an image.
    pub columns: usize,
    /// How many labels there are; at least 2.
    pub labels: usize,
    /// The β of the model; at most 100.
    pub coupling: f64,
    /// Sweeps of the Gibbs sampler.
    pub sweeps: usize,
    /// Standard deviation of the noise.
    pub noise: f64,
    /// How many images to train on.
    pub train: usize,
    /// How many images for choices; none when left out.
    pub holdout: Option<usize>,
    /// How many images to test on.
    pub test: usize,
}

impl Default for PottsGrid {
    fn default() -> Self {
        PottsGrid {
            rows: 16,
            columns: 16,
            labels: 2,
            coupling: 0.8,
            sweeps: 100,
            noise: 1.0,
            train: 10,
            holdout: None,
            test: 10,
        }
    }
}

impl PottsGrid {
    fn parts(&self) -> Parts {
        let size = |sequences| Size { sequences, length: self.rows * self.columns };
        Parts { train: size(self.train), holdout: self.holdout.map(size), test: size(self.test) }
    }

    fn schema(&self) -> Result<Schema> {
        let channels = vec![Channel { name: "brightness".into(), kind: ChannelKind::Real }];
        let labels = Alphabet::new((0..self.labels).map(|label| label.to_string()));
        let relation = |name: &str| Relation { name: name.into(), tail: 0, head: 0 };
        let kinds = vec![NodeKind { name: "label".into(), labels }];
        Schema::graph(channels, kinds, vec![relation("right"), relation("down")])
    }

    /// The edges of an image, node by node: first to the right, then down.
    fn edges(&self) -> Vec<Edge> {
        let (rows, columns) = (self.rows as u32, self.columns as u32);
        let of = |u: u32| {
            let right = (u % columns + 1 < columns).then_some(Edge { u, v: u + 1, relation: 0 });
            let down = (u / columns + 1 < rows).then_some(Edge { u, v: u + columns, relation: 1 });
            right.into_iter().chain(down)
        };
        (0..rows * columns).flat_map(of).collect()
    }

    /// A label field, row by row.
    fn field(&self, edges: &[Edge], rng: &mut Rng) -> Vec<usize> {
        let mut neighbours = vec![Vec::with_capacity(4); self.rows * self.columns];
        for edge in edges {
            neighbours[edge.u as usize].push(edge.v as usize);
            neighbours[edge.v as usize].push(edge.u as usize);
        }
        let mut field: Vec<usize> = neighbours.iter().map(|_| rng.random_range(0..self.labels)).collect();
        let weight_of: Vec<f64> = (0..=4).map(|equal| (self.coupling * f64::from(equal)).exp()).collect();
        let mut equal = vec![0; self.labels];
        for _ in 0..self.sweeps {
            for (n, around) in neighbours.iter().enumerate() {
                equal.fill(0);
                around.iter().for_each(|&m| equal[field[m]] += 1);
                let weights = equal.iter().map(|&equal| weight_of[equal]);
                let mut left = rng.random::<f64>() * weights.clone().sum::<f64>();
                let chosen = weights.take(self.labels - 1).position(|weight| {
                    left -= weight;
                    left < 0.0
                });
                field[n] = chosen.unwrap_or(self.labels - 1);
            }
        }
        field
    }
}

crf_core::plugin!("source", PottsGrid, "potts-grid");

#[typetag::serde(name = "potts-grid")]
impl Source for PottsGrid {
    fn check(&self) -> Result<()> {
        for (key, side) in [("rows", self.rows), ("columns", self.columns)] {
            require((1..=10_000).contains(&side), key, "between 1 and 10,000", side)?;
        }
        let images = [("train", self.train), ("holdout", self.holdout.unwrap_or(1)), ("test", self.test)];
        for (key, count) in images.into_iter().chain([("sweeps", self.sweeps)]) {
            require(count > 0, key, "at least 1", count)?;
        }
        require(self.labels >= 2, "labels", "at least 2", self.labels)?;
        let range = "a number between -100 and 100";
        require(self.coupling.abs() <= 100.0, "coupling", range, self.coupling)?;
        noise(self.noise).map(|_| ())
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let (noise, schema) = (noise(self.noise)?, Arc::new(self.schema()?));
        let edges = self.edges();
        let graph = Graph::new(&schema, vec![0; self.rows * self.columns], edges.clone())?;
        self.parts().draw(&schema, seed, |_, _, rng, out| {
            for label in self.field(&edges, rng) {
                out.push(&[Value::Real(label as f64 + noise.sample(rng))], Some(label as u32))?;
            }
            out.end_graph(graph.clone())
        })
    }
}
