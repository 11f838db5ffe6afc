use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bulk;
use crate::corpus::Corpus;
use crate::error::{Error, Result};
use crate::feature_map::FeatureMap;
use crate::features::FittedFeatures;
use crate::model::{BoundModel, Model};
use crate::potentials::Potentials;
use crate::scorer::Scorer;
use crate::scratch::Scratch;

/// p(Y|X) ∝ exp(w·F(X, Y)): a feature map and one weight for each of its features (Vail 2008, equation 2.43).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct LogLinear {
    map: Arc<FeatureMap>,
    #[serde(with = "bulk")]
    weights: Vec<f64>,
}

/// A model as a file has it.
#[derive(Deserialize)]
struct Unchecked {
    map: Arc<FeatureMap>,
    #[serde(with = "bulk")]
    weights: Vec<f64>,
}

impl TryFrom<Unchecked> for LogLinear {
    type Error = Error;

    fn try_from(Unchecked { map, weights }: Unchecked) -> Result<Self> {
        LogLinear::new(map, weights)
    }
}

impl LogLinear {
    /// A model; every weight must be finite.
    pub fn new(map: Arc<FeatureMap>, weights: Vec<f64>) -> Result<Self> {
        if weights.len() != map.len() {
            return Err(Error::data(format!("{} weights for {} features", weights.len(), map.len())));
        }
        if let Some(k) = weights.iter().position(|w| !w.is_finite()) {
            return Err(Error::NotFinite(format!("the weight of `{}` is {}", map.name(k), weights[k])));
        }
        Ok(LogLinear { map, weights })
    }

    /// Which features there are.
    pub fn map(&self) -> &Arc<FeatureMap> {
        &self.map
    }

    /// The weight of each feature.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }
}

#[typetag::serde(name = "log-linear")]
impl Model for LogLinear {
    fn bind<'a>(&'a self, x: &'a Corpus) -> Result<Box<dyn BoundModel + 'a>> {
        let mut scorer = Scorer::new(&self.map, x)?;
        scorer.update(&self.weights);
        Ok(Box::new(BoundLogLinear { scorer }))
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

struct BoundLogLinear<'a> {
    scorer: Scorer<'a>,
}

impl BoundModel for BoundLogLinear<'_> {
    fn fill<'s>(&'s self, i: usize, scratch: &'s mut Scratch) -> Result<Potentials<'s>> {
        self.scorer.fill(i, scratch)
    }
}
