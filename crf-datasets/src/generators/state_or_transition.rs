use std::sync::Arc;

use crf_core::{Result, Schema, Seed, Source, Splits, Value, require};
use rand_distr::Distribution as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::generators::support::binary::{labels, sign};
use crate::generators::support::label_chain::LabelChain;
use crate::generators::support::noise::noise;
use crate::generators::support::size::Size;
use crate::generators::support::splits::Parts;

/// Pairs of numbers, one about a label and one about whether it has changed (Vail 2008, eqs. 3.36 and 3.37).
///
/// Binary labels follow a first-order Markov chain. The channels `state1`, `state2` … are normal around 1 or −1 as the
/// label is 1 or 0, and `transition1`, `transition2` … as the label is another than the one before or the same. So the
/// first belong into state features and the others into transition features: alone, either label of the two leaves
/// a transition channel as likely as before.
///
/// The thesis does not say what the first position's change is; we draw a label before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StateOrTransition {
    /// How many channels of either sort there are; at least 1.
    pub pairs: usize,
    /// Standard deviation of all channels.
    pub noise: f64,
    /// Probability that a label is the one before.
    pub stay: f64,
    /// Size of the training data.
    pub train: Size,
    /// Size of the data for choices; none when left out.
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
    fn parts(&self) -> Parts {
        Parts { train: self.train, holdout: self.holdout, test: self.test }
    }
}

crf_core::plugin!("source", StateOrTransition, "state-or-transition", example = "pairs = 2");

#[typetag::serde(name = "state-or-transition")]
impl Source for StateOrTransition {
    fn check(&self) -> Result<()> {
        require(self.pairs >= 1, "pairs", "at least 1", self.pairs)?;
        noise(self.noise)?;
        LabelChain::new("stay", self.stay, 2)?;
        self.parts().check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let names = (1..=self.pairs).flat_map(|k| ["state", "transition"].map(|sort| format!("{sort}{k}")));
        let schema = Arc::new(Schema::chain(real(names), labels())?);
        let (chain, noise) = (LabelChain::new("stay", self.stay, 2)?, noise(self.noise)?);
        self.parts().draw(&schema, seed, |_, length, rng, out| {
            let mut last = None;
            chain.fill(length, 1, rng, out, |y, rng, values| {
                // Backwards it is the same chain.
                let before = last.replace(y).unwrap_or_else(|| chain.step(Some(y), rng));
                for _ in 0..self.pairs {
                    let means = [sign(y), sign(before ^ y)];
                    values.extend(means.map(|mean| Value::Real(mean + noise.sample(rng))));
                }
            })
        })
    }
}
