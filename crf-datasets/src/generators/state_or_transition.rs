use std::sync::Arc;

use crf_core::{Result, Schema, Seed, Source, Splits, Value};
use rand_distr::Distribution as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::checks::count;
use crate::generators::support::draws::{binary_labels, noise, sign};
use crate::generators::support::label_chain::LabelChain;
use crate::generators::support::splits::{Size, SplitSizes};

/// Pairs of numbers, one about the label and one about its change (Vail 2008, eqs. 3.36 and 3.37).
///
/// Binary labels follow a first-order Markov chain. The channels `state1`, `state2`, … are normal
/// around 1 for label 1 and around −1 for label 0. The channels `transition1`, `transition2`, … are
/// normal around 1 if the label differs from the previous label and around −1 if it is the same. So
/// the former belong into state features and the latter into transition features: a transition
/// channel is independent of either label alone.
///
/// The thesis does not define the change at the first position; we draw a label before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StateOrTransition {
    /// Number of channels of either sort; at least 1.
    pub pairs: usize,
    /// Standard deviation of all channels.
    pub noise: f64,
    /// Probability that a label equals the previous label.
    pub stay: f64,
    /// Size of the training data.
    pub train: Size,
    /// Size of the validation data; none if omitted.
    pub holdout: Option<Size>,
    /// Size of the test data.
    pub test: Size,
}

impl Default for StateOrTransition {
    fn default() -> Self {
        StateOrTransition {
            pairs: 1,
            noise: 5.0,
            stay: 0.75,
            train: Size { sequences: 1, length: 1000 },
            holdout: None,
            test: Size { sequences: 1, length: 1000 },
        }
    }
}

impl StateOrTransition {
    fn sizes(&self) -> SplitSizes {
        SplitSizes { train: self.train, holdout: self.holdout, test: self.test }
    }
}

crf_core::plugin!("source", StateOrTransition, "state-or-transition", example = "pairs = 2");

#[typetag::serde(name = "state-or-transition")]
impl Source for StateOrTransition {
    fn check(&self) -> Result<()> {
        count("pairs", 1, self.pairs)?;
        noise(self.noise)?;
        LabelChain::new("stay", self.stay, 2)?;
        self.sizes().check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let names = (1..=self.pairs).flat_map(|k| ["state", "transition"].map(|sort| format!("{sort}{k}")));
        let schema = Arc::new(Schema::chain(real(names), binary_labels())?);
        let chain = LabelChain::new("stay", self.stay, 2)?;
        let noise = noise(self.noise)?;
        self.sizes().draw(&schema, seed, |_, length, rng, out| {
            let mut last = None;
            chain.fill(length, 1, rng, out, |y, rng, values| {
                // The chain is reversible: the label before the first one is drawn like one after
                // it.
                let previous = last.replace(y).unwrap_or_else(|| chain.step(Some(y), rng));
                for _ in 0..self.pairs {
                    let means = [sign(y), sign(previous ^ y)];
                    values.extend(means.map(|mean| Value::Real(mean + noise.sample(rng))));
                }
            })
        })
    }
}
