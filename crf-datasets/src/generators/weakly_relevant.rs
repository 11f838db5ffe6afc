use std::f64::consts::SQRT_2;
use std::sync::Arc;

use crf_core::{Result, Schema, Seed, Source, Splits, Value, require};
use rand::RngExt as _;
use rand_distr::Distribution as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::generators::support::binary::{labels, sign};
use crate::generators::support::label_chain::LabelChain;
use crate::generators::support::noise::noise;
use crate::generators::support::size::Size;
use crate::generators::support::splits::Parts;

/// Groups of one strongly relevant number and copies of it that noise replaces (Vail 2008, §3.3.1).
///
/// Binary labels follow a first-order Markov chain. The channel `strong1` of the first group is normal around 1 or −1, as
/// the label is 1 or 0. `weak1-1`, `weak1-2` … are copies of it, but the j-th is replaced by a normal number around 0 with
/// twice the variance where a number c, uniform in [0, 1] and drawn once for the group and the position, is below j times
/// `step`. So a copy never tells more than those before it, and the strong channel tells all that its group does.
///
/// Deviation. The thesis prints that v_j is replaced if .05j < c, which would make later copies better and contradicts its
/// own next sentence; we replace v_j if c < .05j.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WeaklyRelevant {
    /// The k of the thesis: how many groups there are; at least 1.
    pub groups: usize,
    /// One less than the n of the thesis: how many weak copies each strong channel has.
    pub copies: usize,
    /// By how much the probability that a copy is replaced grows from copy to copy.
    pub step: f64,
    /// Standard deviation of a strong channel around 1 or −1.
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

impl Default for WeaklyRelevant {
    fn default() -> Self {
        WeaklyRelevant {
            groups: 10,
            copies: 4,
            step: 0.05,
            noise: 5.0,
            stay: 0.75,
            train: Size { sequences: 1, length: 1024 },
            holdout: None,
            test: Size { sequences: 1, length: 1000 },
        }
    }
}

impl WeaklyRelevant {
    fn parts(&self) -> Parts {
        Parts { train: self.train, holdout: self.holdout, test: self.test }
    }

    /// The names of the channels, group by group.
    fn channels(&self) -> impl Iterator<Item = String> {
        let copies = self.copies;
        (1..=self.groups).flat_map(move |g| {
            let weak = (1..=copies).map(move |j| format!("weak{g}-{j}"));
            std::iter::once(format!("strong{g}")).chain(weak)
        })
    }
}

crf_core::plugin!(
    "source",
    WeaklyRelevant,
    "weakly-relevant",
    example = "
groups = 3
copies = 2
"
);

#[typetag::serde(name = "weakly-relevant")]
impl Source for WeaklyRelevant {
    fn check(&self) -> Result<()> {
        require(self.groups >= 1, "groups", "at least 1", self.groups)?;
        require((0.0..=1.0).contains(&self.step), "step", "between 0 and 1", self.step)?;
        noise(self.noise)?;
        LabelChain::new("stay", self.stay, 2)?;
        self.parts().check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let schema = Arc::new(Schema::chain(real(self.channels()), labels())?);
        let chain = LabelChain::new("stay", self.stay, 2)?;
        let (informative, uninformative) = (noise(self.noise)?, noise(self.noise * SQRT_2)?);
        self.parts().draw(&schema, seed, |_, length, rng, out| {
            chain.fill(length, 1, rng, out, |y, rng, values| {
                for _ in 0..self.groups {
                    let (strong, c) = (sign(y) + informative.sample(rng), rng.random::<f64>());
                    // The strong channel is the copy that nothing replaces.
                    values.extend((0..=self.copies).map(|j| {
                        let replaced = c < self.step * j as f64;
                        Value::Real(if replaced { uninformative.sample(rng) } else { strong })
                    }));
                }
            })
        })
    }
}
