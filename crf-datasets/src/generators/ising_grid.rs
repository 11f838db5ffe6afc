use std::sync::Arc;

use crf_core::{Alphabet, Channel, ChannelKind, Graph, Result, Seed, Source, Splits, Value, require};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::generators::support::grid::{Grid, Potts};

/// Grids with random fields and couplings, on which inference is easy or hard (Wainwright et al. 2005).
///
/// An Ising model: p(y) ∝ exp(Σ_n field_n s_n + Σ_uv coupling_uv s_u s_v), where s is −1 for the label `minus` and 1 for
/// `plus`, and all fields and couplings are drawn uniformly. A node has its field in the channel `field` and the coupling
/// of the edge that leads to it from the left in `right`, from above in `down`; 0 where there is none. Edges have the
/// relations `right` and `down`. Labels are drawn by Gibbs sampling.
///
/// The true model is log-linear: since s = 2 (y = plus) − 1 and s_u s_v = 2 (y_u = y_v) − 1, the value of `field` has the
/// weight 2 at `plus`, and that of a relation's channel the weight 2 at pairs of equal labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IsingGrid {
    /// Rows of a grid.
    pub rows: usize,
    /// Columns of a grid.
    pub columns: usize,
    /// Fields are between minus this and this; at most 100.
    pub field: f64,
    /// Couplings are at most this; at most 100 itself.
    pub coupling: f64,
    /// Which couplings there are.
    pub signs: Signs,
    /// Sweeps of the Gibbs sampler that draws labels.
    pub sweeps: usize,
    /// How many grids to train on.
    pub train: usize,
    /// How many grids for choices; none when left out.
    pub holdout: Option<usize>,
    /// How many grids to test on.
    pub test: usize,
}

/// The signs of couplings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Signs {
    /// Neighbours want to be equal: from 0 to `coupling`.
    Attractive,
    /// Some want to be equal and some to differ, and not all can have their way: from −`coupling` to `coupling`.
    Mixed,
}

impl Default for IsingGrid {
    fn default() -> Self {
        IsingGrid {
            rows: 8,
            columns: 8,
            field: 0.25,
            coupling: 0.5,
            signs: Signs::Mixed,
            sweeps: 100,
            train: 10,
            holdout: None,
            test: 10,
        }
    }
}

impl IsingGrid {
    fn grid(&self) -> Grid {
        let Self { rows, columns, train, holdout, test, .. } = *self;
        Grid { rows, columns, train, holdout, test }
    }
}

crf_core::plugin!(
    "source",
    IsingGrid,
    "ising-grid",
    example = "
rows = 3
columns = 3
train = 5
test = 5
"
);

#[typetag::serde(name = "ising-grid")]
impl Source for IsingGrid {
    fn check(&self) -> Result<()> {
        self.grid().check()?;
        require(self.sweeps > 0, "sweeps", "at least 1", self.sweeps)?;
        for (key, strength) in [("field", self.field), ("coupling", self.coupling)] {
            require((0.0..=100.0).contains(&strength), key, "between 0 and 100", strength)?;
        }
        Ok(())
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let (grid, n_nodes) = (self.grid(), self.rows * self.columns);
        let channel = |name: &str| Channel { name: name.into(), kind: ChannelKind::Real };
        let channels = ["field", "right", "down"].map(channel).to_vec();
        let schema = Arc::new(Grid::schema(channels, Alphabet::new(["minus", "plus"]))?);
        let edges = grid.edges();
        let graph = Graph::new(&schema, vec![0; n_nodes], edges.clone())?;
        grid.parts().draw(&schema, seed, |_, _, rng, out| {
            let mut between = |low: f64, high: f64| low + (high - low) * rng.random::<f64>();
            let mut values = vec![[0.0; 3]; n_nodes];
            values.iter_mut().for_each(|values| values[0] = between(-self.field, self.field));
            for edge in &edges {
                let low = if self.signs == Signs::Mixed { -self.coupling } else { 0.0 };
                values[edge.v as usize][1 + edge.relation as usize] = between(low, self.coupling);
            }
            let couplings: Vec<f64> =
                edges.iter().map(|edge| 2.0 * values[edge.v as usize][1 + edge.relation as usize]).collect();
            let fields: Vec<f64> = values.iter().flat_map(|values| [0.0, 2.0 * values[0]]).collect();
            let model = Potts { edges: &edges, couplings: &couplings, fields: &fields, labels: 2 };
            for (label, values) in model.draw(self.sweeps, rng).into_iter().zip(values) {
                out.push(&values.map(Value::Real), Some(label as u32))?;
            }
            out.end_graph(graph.clone())
        })
    }
}
