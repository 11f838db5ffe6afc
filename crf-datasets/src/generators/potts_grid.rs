use std::sync::Arc;

use crf_core::{Channel, ChannelKind, Graph, Result, Seed, Source, Splits, Value, require};
use rand_distr::Distribution as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checks::count;
use crate::generators::support::draws::noise;
use crate::generators::support::grid::{Grid, Potts, check_sweeps};
use crate::labels::numbered;

/// Noisy images of smooth label fields: a Potts model on a grid (Geman & Geman 1984).
///
/// The labels 0, 1, … are drawn from p(y) ∝ exp(β · number of neighbours with equal labels) by
/// Gibbs sampling, row by row from a uniform start. The real channel `brightness` of a pixel is its
/// label plus normal noise. Nodes are joined to their right and lower neighbours by the relations
/// `right` and `down`. The true model is log-linear: brightness and intercept for each label, β on
/// the diagonal of both relations.
///
/// A hundred sweeps come close to the model below the critical β, which is log(1 + √q) for q labels
/// (0.88 for two); above it the field freezes into patches of its start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PottsGrid {
    /// Number of rows of an image.
    pub rows: usize,
    /// Number of columns of an image.
    pub columns: usize,
    /// Number of labels; at least 2.
    pub labels: usize,
    /// Coupling β of neighbours; at most 100 in absolute value.
    pub coupling: f64,
    /// Number of sweeps of the Gibbs sampler.
    pub sweeps: usize,
    /// Standard deviation of the noise.
    pub noise: f64,
    /// Number of training images.
    pub train: usize,
    /// Number of validation images; none if omitted.
    pub holdout: Option<usize>,
    /// Number of test images.
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
    fn grid(&self) -> Grid {
        let Self { rows, columns, train, holdout, test, .. } = *self;
        Grid { rows, columns, train, holdout, test }
    }
}

crf_core::plugin!(
    "source",
    PottsGrid,
    "potts-grid",
    example = "
rows = 16
columns = 16
"
);

#[typetag::serde(name = "potts-grid")]
impl Source for PottsGrid {
    fn check(&self) -> Result<()> {
        self.grid().check()?;
        check_sweeps(self.sweeps)?;
        count("labels", 2, self.labels)?;
        let range = "a number between -100 and 100";
        require(self.coupling.abs() <= 100.0, "coupling", range, self.coupling)?;
        noise(self.noise).map(drop)
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let channels = vec![Channel { name: "brightness".into(), kind: ChannelKind::Real }];
        let noise = noise(self.noise)?;
        let schema = Arc::new(Grid::schema(channels, numbered(self.labels))?);
        let edges = self.grid().edges(self.labels)?;
        let n_nodes = self.rows * self.columns;
        let graph = Graph::new(&schema, vec![0; n_nodes], edges.clone())?;
        let couplings = vec![self.coupling; edges.len()];
        let fields = vec![0.0; n_nodes * self.labels];
        let model = Potts { edges: &edges, couplings: &couplings, fields: &fields, n_labels: self.labels };
        self.grid().sizes().draw(&schema, seed, |_, _, rng, out| {
            for label in model.draw(self.sweeps, rng) {
                out.push(&[Value::Real(label as f64 + noise.sample(rng))], Some(label as u32))?;
            }
            out.end_graph(graph.clone())
        })
    }
}
