use std::f64::consts::SQRT_2;
use std::sync::Arc;

use crf_core::{Result, Schema, Seed, Source, Splits, Value, require};
use rand::RngExt as _;
use rand_distr::Distribution as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::checks::count;
use crate::generators::support::draws::{binary_labels, noise, sign};
use crate::generators::support::label_chain::LabelChain;
use crate::generators::support::splits::{Size, SplitSizes};

/// Groups of one strongly relevant number and copies of it that noise may replace (Vail 2008,
/// §3.3.1).
///
/// Binary labels follow a first-order Markov chain. The channel `strong1` of the first group is
/// normal around 1 for label 1 and around −1 for label 0. `weak1-1`, `weak1-2`, … are copies of it.
/// For each group and position a number c is drawn, uniform in [0, 1]; if c is below j times
/// `step`, the j-th copy is replaced by a normal number around 0 with twice the variance. So a copy
/// never carries more information than the copies before it, and the strong channel carries all
/// information of its group.
///
/// Deviation. The thesis prints that v_j is replaced if .05j < c, which would make later copies
/// better and contradicts its own next sentence; we replace v_j if c < .05j.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WeaklyRelevant {
    /// Number of groups, k in the thesis; at least 1.
    pub groups: usize,
    /// Number of weak copies of each strong channel, n − 1 in the thesis.
    pub copies: usize,
    /// Increase of the probability of replacement from copy to copy.
    pub step: f64,
    /// Standard deviation of a strong channel around 1 or −1.
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
    fn sizes(&self) -> SplitSizes {
        SplitSizes { train: self.train, holdout: self.holdout, test: self.test }
    }

    /// Names of the channels, group by group.
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
        count("groups", 1, self.groups)?;
        count("copies", 0, self.copies)?;
        let n_channels = self.groups * (1 + self.copies);
        require(n_channels <= 10_000, "copies", "such that there are at most 10,000 channels", self.copies)?;
        require((0.0..=1.0).contains(&self.step), "step", "between 0 and 1", self.step)?;
        noise(self.noise)?;
        LabelChain::new("stay", self.stay, 2)?;
        self.sizes().check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let schema = Arc::new(Schema::chain(real(self.channels()), binary_labels())?);
        let chain = LabelChain::new("stay", self.stay, 2)?;
        let informative = noise(self.noise)?;
        let uninformative = noise(self.noise * SQRT_2)?;
        self.sizes().draw(&schema, seed, |_, length, rng, out| {
            chain.fill(length, 1, rng, out, |y, rng, values| {
                for _ in 0..self.groups {
                    let strong = sign(y) + informative.sample(rng);
                    let c = rng.random::<f64>();
                    // j = 0 is the strong channel, which is never replaced.
                    values.extend((0..=self.copies).map(|j| {
                        let is_replaced = c < self.step * j as f64;
                        Value::Real(if is_replaced { uninformative.sample(rng) } else { strong })
                    }));
                }
            })
        })
    }
}
