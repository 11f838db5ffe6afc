use std::sync::Arc;

use crf_core::{Result, Rng, Schema, Seed, Source, Splits, Value, require};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::checks::count;
use crate::generators::support::draws::{binary_labels, indicator, sign};
use crate::generators::support::label_chain::LabelChain;
use crate::generators::support::splits::{Size, SplitSizes};

/// Numbers that inform about the label through one threshold or one power only (after Vail 2008,
/// §3.1.3).
///
/// Binary labels follow a first-order Markov chain. The channels `x1`, `x2`, … lie between −1 and 1
/// with the densities p(x | y) ∝ exp(±strength/2 · g(x)), plus for label 1: the log-odds of label 1
/// are strength · g(x) and a constant. So g is strongly relevant, and other thresholds or powers
/// are weakly relevant, the less the less they resemble it. Selection among many candidates, such
/// as `{ type = "threshold", at = [-0.8, -0.6, …] }` or
/// `{ type = "power", degrees = [1, 2, 3, 4] }`, should find it.
///
/// The thesis asks the question but has no data for it; the distribution is ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HiddenTransformation {
    /// The function g: `{ threshold = 0.2 }` is 1 above 0.2 and 0 otherwise, `{ power = 3 }` is x³.
    pub truth: Transformation,
    /// Factor of g in the log-odds; above 0, and at most 20.
    pub strength: f64,
    /// Number of channels; at least 1.
    pub channels: usize,
    /// Probability that a label equals the previous label.
    pub stay: f64,
    /// Size of the training data.
    pub train: Size,
    /// Size of the validation data; none if omitted.
    pub holdout: Option<Size>,
    /// Size of the test data.
    pub test: Size,
}

/// Function g of a number between −1 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transformation {
    /// 1 if the number is above this threshold, which is between −1 and 1, and 0 otherwise.
    Threshold(f64),
    /// Number raised to this power, from 1 to 64.
    Power(u32),
}

impl Transformation {
    fn check(self) -> Result<()> {
        match self {
            Transformation::Threshold(at) => {
                require(at > -1.0 && at < 1.0, "threshold", "above -1 and below 1", at)
            }
            Transformation::Power(degree) => {
                require((1..=64).contains(&degree), "power", "from 1 to 64", degree)
            }
        }
    }

    /// Value of the function, which is between −1 and 1.
    fn evaluate(self, x: f64) -> f64 {
        match self {
            Transformation::Threshold(at) => indicator(x > at),
            Transformation::Power(degree) => x.powi(degree as i32),
        }
    }
}

impl Default for HiddenTransformation {
    fn default() -> Self {
        HiddenTransformation {
            truth: Transformation::Threshold(0.2),
            strength: 2.0,
            channels: 1,
            stay: 0.75,
            train: Size { sequences: 1, length: 1000 },
            holdout: None,
            test: Size { sequences: 1, length: 1000 },
        }
    }
}

impl HiddenTransformation {
    fn sizes(&self) -> SplitSizes {
        SplitSizes { train: self.train, holdout: self.holdout, test: self.test }
    }

    /// Draws an observation for a label by rejection: a uniform number is kept with a probability
    /// proportional to its density.
    fn observe(&self, sign: f64, rng: &mut Rng) -> f64 {
        loop {
            let x = rng.random_range(-1.0..=1.0);
            if rng.random::<f64>() < (self.strength / 2.0 * (sign * self.truth.evaluate(x) - 1.0)).exp() {
                return x;
            }
        }
    }
}

crf_core::plugin!("source", HiddenTransformation, "hidden-transformation", example = "truth = { power = 3 }");

#[typetag::serde(name = "hidden-transformation")]
impl Source for HiddenTransformation {
    fn check(&self) -> Result<()> {
        self.truth.check()?;
        let bounded = self.strength > 0.0 && self.strength <= 20.0;
        require(bounded, "strength", "above 0 and at most 20", self.strength)?;
        count("channels", 1, self.channels)?;
        LabelChain::new("stay", self.stay, 2)?;
        self.sizes().check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let channels = real((1..=self.channels).map(|k| format!("x{k}")));
        let schema = Arc::new(Schema::chain(channels, binary_labels())?);
        let chain = LabelChain::new("stay", self.stay, 2)?;
        self.sizes().draw(&schema, seed, |_, length, rng, out| {
            chain.fill(length, 1, rng, out, |y, rng, values| {
                values.extend((0..self.channels).map(|_| Value::Real(self.observe(sign(y), rng))));
            })
        })
    }
}
