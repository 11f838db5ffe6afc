use std::sync::Arc;

use crf_core::{Alphabet, Channel, ChannelKind, Graph, Result, Seed, Source, Splits, Value, require};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::generators::support::grid::{Grid, Potts, check_sweeps};

/// Ising grids with random fields and couplings, on which inference is easy or hard (Wainwright et
/// al. 2005).
///
/// p(y) ∝ exp(Σ_n field_n s_n + Σ_uv coupling_uv s_u s_v), where s is −1 for the label `minus` and
/// 1 for `plus`. All fields and couplings are drawn uniformly. A node has its field in the channel
/// `field`, the coupling of the edge from its left neighbour in the channel `right`, and that of
/// the edge from its upper neighbour in `down`; 0 if there is no such edge. Edges have the
/// relations `right` and `down`. Labels are drawn by Gibbs sampling.
///
/// The true model is log-linear: since s = 2 (y = plus) − 1 and s_u s_v = 2 (y_u = y_v) − 1, the
/// value of `field` has the weight 2 for the label `plus`, and the channel of a relation has the
/// weight 2 for pairs of equal labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IsingGrid {
    /// Number of rows of a grid.
    pub rows: usize,
    /// Number of columns of a grid.
    pub columns: usize,
    /// Bound of the fields, which are drawn from −`field` to `field`; at most 100.
    pub field: f64,
    /// Bound of the couplings; at most 100.
    pub coupling: f64,
    /// Signs of the couplings: `attractive` or `mixed`.
    pub signs: Signs,
    /// Number of sweeps of the Gibbs sampler that draws labels.
    pub sweeps: usize,
    /// Number of training grids.
    pub train: usize,
    /// Number of validation grids; none if omitted.
    pub holdout: Option<usize>,
    /// Number of test grids.
    pub test: usize,
}

/// Signs of the couplings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Signs {
    /// Neighbours tend to be equal: couplings from 0 to `coupling`.
    Attractive,
    /// Some neighbours tend to be equal and some to differ (frustration): couplings from
    /// −`coupling` to `coupling`.
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
        check_sweeps(self.sweeps)?;
        for (key, strength) in [("field", self.field), ("coupling", self.coupling)] {
            require((0.0..=100.0).contains(&strength), key, "between 0 and 100", strength)?;
        }
        Ok(())
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let grid = self.grid();
        let n_nodes = self.rows * self.columns;
        let channel = |name: &str| Channel { name: name.into(), kind: ChannelKind::Real };
        let channels = ["field", "right", "down"].map(channel).to_vec();
        let schema = Arc::new(Grid::schema(channels, Alphabet::new(["minus", "plus"]))?);
        let edges = grid.edges(2)?;
        let graph = Graph::new(&schema, vec![0; n_nodes], edges.clone())?;
        grid.sizes().draw(&schema, seed, |_, _, rng, out| {
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
            let model = Potts { edges: &edges, couplings: &couplings, fields: &fields, n_labels: 2 };
            for (label, values) in model.draw(self.sweeps, rng).into_iter().zip(values) {
                out.push(&values.map(Value::Real), Some(label as u32))?;
            }
            out.end_graph(graph.clone())
        })
    }
}
