use std::sync::Arc;

use crf_core::{Result, Schema, Seed, Source, Splits, Value};
use rand_distr::Distribution as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::checks::count;
use crate::generators::support::draws::{indicator, noise};
use crate::generators::support::label_chain::LabelChain;
use crate::generators::support::splits::{Size, SplitSizes};
use crate::labels::numbered;

/// Labels that seldom change, observed as indicator vectors plus normal noise (Diotte 2017, §IV.A).
///
/// With three labels, x_t = e_y + N(0, σ²I) has the real channels `x0`, `x1` and `x2`. A label
/// stays or moves to any other; the first is uniform. The features of the paper are
/// `{ state = "value" }` for x_t ⊗ e_y (9 weights) and
/// `{ transition = { type = "window", before = 1, over = "mean" } }` for (x_{t−1} + x_t) ⊗ e_y' ⊗
/// e_y (27 weights). The mean is half of the paper's sum, so its weights are twice as large. A
/// transition needs two positions, so there is none into the first label from a label 1 before it,
/// as the paper has.
///
/// Neither the data nor their distribution were published. σ and the probability of staying are
/// estimated from 160 sequences of the same course (CUNY, spring 2017); with them logistic
/// regression has the accuracy that the paper reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NoisyIndicators {
    /// Number of labels and of channels; at least 2.
    pub labels: usize,
    /// Probability that a label equals the previous label.
    pub stay: f64,
    /// Standard deviation of the noise.
    pub noise: f64,
    /// Size of the training data.
    pub train: Size,
    /// Size of the validation data; none if omitted.
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
    fn sizes(&self) -> SplitSizes {
        SplitSizes { train: self.train, holdout: self.holdout, test: self.test }
    }
}

crf_core::plugin!("source", NoisyIndicators, "noisy-indicators", example = "stay = 0.95");

#[typetag::serde(name = "noisy-indicators")]
impl Source for NoisyIndicators {
    fn check(&self) -> Result<()> {
        count("labels", 2, self.labels)?;
        LabelChain::new("stay", self.stay, self.labels)?;
        noise(self.noise)?;
        self.sizes().check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let channels = real((0..self.labels).map(|k| format!("x{k}")));
        let schema = Arc::new(Schema::chain(channels, numbered(self.labels))?);
        let chain = LabelChain::new("stay", self.stay, self.labels)?;
        let noise = noise(self.noise)?;
        self.sizes().draw(&schema, seed, |_, length, rng, out| {
            chain.fill(length, 1, rng, out, |y, rng, values| {
                let observe = |k| indicator(k == y as usize) + noise.sample(rng);
                values.extend((0..self.labels).map(observe).map(Value::Real));
            })
        })
    }
}
