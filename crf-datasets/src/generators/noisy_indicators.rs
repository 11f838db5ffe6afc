use std::sync::Arc;

use crf_core::{Result, Schema, Seed, Source, Splits, Value, require};
use rand_distr::Distribution as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::generators::support::label_chain::{LabelChain, numbered};
use crate::generators::support::noise::noise;
use crate::generators::support::size::Size;
use crate::generators::support::splits::Parts;

/// Labels that seldom change, each seen as its indicator vector plus normal noise (Diotte 2017, §IV.A).
///
/// With three labels, x_t = e_y + N(0, σ²I) has the real channels `x0`, `x1` and `x2`. A label stays or goes to any
/// other; the first is uniform. The paper's features are `{ state = "value" }` for x_t ⊗ e_y (9 weights) and
/// `{ transition = { type = "window", before = 1, over = "mean" } }` for (x_{t−1} + x_t) ⊗ e_y' ⊗ e_y (27 weights), whose
/// mean is half of the paper's sum: its weights are twice as large. A transition needs two positions, so there
/// is none into the paper's first label from a label 1 before it.
///
/// Neither its data nor its law were published: σ and the probability of staying are those estimated from 160 sequences
/// of the same course (CUNY, spring 2017), with which logistic regression has the accuracy that it reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NoisyIndicators {
    /// How many labels there are, and channels; at least 2.
    pub labels: usize,
    /// Probability that a label is the one before.
    pub stay: f64,
    /// Standard deviation of the noise.
    pub noise: f64,
    /// Size of the training data.
    pub train: Size,
    /// Size of the data for choices; none when left out.
    pub holdout: Option<Size>,
    /// Size of the test data.
    pub test: Size,
}

impl Default for NoisyIndicators {
    fn default() -> Self {
        NoisyIndicators {
            labels: 3,
            stay: 0.986,
            noise: 0.4,
            train: Size { sequences: 900, length: 10 },
            holdout: None,
            test: Size { sequences: 100, length: 10 },
        }
    }
}

impl NoisyIndicators {
    fn parts(&self) -> Parts {
        Parts { train: self.train, holdout: self.holdout, test: self.test }
    }
}

crf_core::plugin!("source", NoisyIndicators, "noisy-indicators", example = "stay = 0.95");

#[typetag::serde(name = "noisy-indicators")]
impl Source for NoisyIndicators {
    fn check(&self) -> Result<()> {
        require(self.labels >= 2, "labels", "at least 2", self.labels)?;
        LabelChain::new("stay", self.stay, self.labels)?;
        noise(self.noise)?;
        self.parts().check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let channels = real((0..self.labels).map(|k| format!("x{k}")));
        let schema = Arc::new(Schema::chain(channels, numbered(self.labels))?);
        let (chain, noise) = (LabelChain::new("stay", self.stay, self.labels)?, noise(self.noise)?);
        self.parts().draw(&schema, seed, |_, length, rng, out| {
            chain.fill(length, 1, rng, out, |y, rng, values| {
                let indicator = |k| f64::from(u8::from(k == y as usize));
                values.extend((0..self.labels).map(|k| Value::Real(indicator(k) + noise.sample(rng))));
            })
        })
    }
}
