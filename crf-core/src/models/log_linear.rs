use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::features::encoded_dataset::EncodedDataset;
use crate::features::feature_map::FeatureMap;
use crate::features::feature_set::FeatureSet;
use crate::features::fitted::FittedFeatures;
use crate::inference::potentials::Potentials;
use crate::inference::scratch::Scratch;
use crate::models::constant_scores::ConstantScores;
use crate::models::edge_scores::{EdgeScores, OwnTables};
use crate::models::model::{BoundModel, Model};
use crate::numeric::serde_numbers;

/// Log-linear model p(Y|X) ∝ exp(w·F(X, Y)): a feature map and one weight per feature (Vail 2008,
/// equation 2.43).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredLogLinear")]
pub struct LogLinear {
    map: Arc<FeatureMap>,
    #[serde(with = "serde_numbers")]
    weights: Vec<f64>,
}

/// Stored form of a model.
#[derive(Deserialize)]
struct StoredLogLinear {
    map: Arc<FeatureMap>,
    #[serde(with = "serde_numbers")]
    weights: Vec<f64>,
}

impl TryFrom<StoredLogLinear> for LogLinear {
    type Error = Error;

    fn try_from(StoredLogLinear { map, weights }: StoredLogLinear) -> Result<Self> {
        LogLinear::new(map, weights)
    }
}

impl LogLinear {
    /// Builds a model; every weight must be finite.
    pub fn new(map: Arc<FeatureMap>, weights: Vec<f64>) -> Result<Self> {
        if weights.len() != map.len() {
            return Err(Error::data(format!("{} weights for {} features", weights.len(), map.len())));
        }
        if let Some(k) = weights.iter().position(|w| !w.is_finite()) {
            return Err(Error::NotFinite(format!("the weight of `{}` is {}", map.name(k), weights[k])));
        }
        Ok(LogLinear { map, weights })
    }

    /// Features of the model.
    pub fn map(&self) -> &Arc<FeatureMap> {
        &self.map
    }

    /// Weight of each feature.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }
}

#[typetag::serde(name = "log-linear")]
impl Model for LogLinear {
    /// Reads the state weights in place, without a layout of its own.
    fn bind<'a>(&'a self, encoded: &'a EncodedDataset) -> Result<Box<dyn BoundModel + 'a>> {
        encoded.require(self.map.schema())?;
        self.map.schema().require_tables()?;
        let (state, transition) = self.weights.split_at(self.map.state().len());
        let mut constants = ConstantScores::new(&self.map);
        constants.update(&self.map, encoded, state);
        let edges = EdgeScores::with_weights(&self.map, encoded, transition);
        Ok(Box::new(BoundLogLinear { features: self.map.state(), weights: state, encoded, constants, edges }))
    }

    fn restore(&mut self, features: &FittedFeatures) -> Result<()> {
        Arc::make_mut(&mut self.map).restore(features)
    }

    fn log_linear(&self) -> Option<&LogLinear> {
        Some(self)
    }

    fn describe(&self, top: usize, out: &mut dyn FnMut(&str, f64)) {
        let mut order: Vec<usize> = (0..self.weights.len()).collect();
        order.sort_by(|&a, &b| self.weights[b].abs().total_cmp(&self.weights[a].abs()));
        order.into_iter().take(top).for_each(|k| out(&self.map.name(k), self.weights[k]));
    }
}

/// Model bound to an encoded dataset, whose sequences are scored once each.
struct BoundLogLinear<'a> {
    features: &'a FeatureSet,
    weights: &'a [f64], // of the state features
    encoded: &'a EncodedDataset,
    constants: ConstantScores,
    edges: EdgeScores<'a>,
}

/// Memory for one sequence's potentials.
#[derive(Debug, Default)]
struct Buffer {
    node: Vec<f64>,
    tables: OwnTables,
}

impl BoundModel for BoundLogLinear<'_> {
    fn fill<'s>(&'s self, i: usize, scratch: &'s mut Scratch) -> Result<Potentials<'s>> {
        let (shape, start) = (self.encoded.data().shape(i), self.encoded.data().range(i).start);
        let Buffer { node, tables } = scratch.get();
        node.resize(shape.node_offset(shape.n_nodes()), 0.0);
        for n in 0..shape.n_nodes() {
            let scores = &mut node[shape.node_offset(n)..shape.node_offset(n + 1)];
            scores.copy_from_slice(self.constants.of(shape.kind(n)));
            self.encoded
                .nodes()
                .for_each(start + n, |g, value| self.features.add_scores(self.weights, g, value, scores));
        }
        Potentials::new(shape, node, self.edges.tables(i, tables))
    }
}
