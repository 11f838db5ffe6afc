use std::sync::Arc;

use crf_core::{Result, Schema, Seed, Source, Splits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::checks::count;
use crate::generators::support::draws::{binary_labels, coin, noisy_copy};
use crate::generators::support::label_chain::LabelChain;
use crate::generators::support::splits::{Size, SplitSizes};

/// Binary labels observed as n identical and n independent noisy copies (Vail 2008, §2.6.2).
///
/// Labels follow a first-order Markov chain. All channels `redundant1` … `redundantn` hold the same
/// noisy copy of the label; each of `independent1` … `independentn` has noise of its own. A model
/// that assumes all channels to be independent given the label counts the redundant copy n times,
/// as figure 2.3 shows.
///
/// "20% noise" is read as: the copy is the other label in 20% of all positions. The thesis does not
/// print the length of its sequences; 1000 positions are our choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RedundantObservations {
    /// Number n of channels of either sort, as in figure 2.3.
    pub copies: usize,
    /// Probability that a label equals the previous label.
    pub stay: f64,
    /// Probability that the common value of the redundant channels is wrong.
    pub noise_redundant: f64,
    /// Probability that the value of an independent channel is wrong.
    pub noise_independent: f64,
    /// Size of the training data.
    pub train: Size,
    /// Size of the validation data; none if omitted.
    pub holdout: Option<Size>,
    /// Size of the test data.
    pub test: Size,
}

impl Default for RedundantObservations {
    fn default() -> Self {
        RedundantObservations {
            copies: 1,
            stay: 0.75,
            noise_redundant: 0.2,
            noise_independent: 0.25,
            train: Size { sequences: 1, length: 1000 },
            holdout: None,
            test: Size { sequences: 1, length: 1000 },
        }
    }
}

impl RedundantObservations {
    fn sizes(&self) -> SplitSizes {
        SplitSizes { train: self.train, holdout: self.holdout, test: self.test }
    }
}

crf_core::plugin!("source", RedundantObservations, "redundant-observations", example = "copies = 2");

#[typetag::serde(name = "redundant-observations")]
impl Source for RedundantObservations {
    fn check(&self) -> Result<()> {
        count("copies", 1, self.copies)?;
        coin("stay", self.stay)?;
        coin("noise_redundant", self.noise_redundant)?;
        coin("noise_independent", self.noise_independent)?;
        self.sizes().check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        let sorts = ["redundant", "independent"].into_iter();
        let names = sorts.flat_map(|sort| (1..=self.copies).map(move |k| format!("{sort}{k}")));
        let schema = Arc::new(Schema::chain(real(names), binary_labels())?);
        let chain = LabelChain::new("stay", self.stay, 2)?;
        let once = coin("noise_redundant", self.noise_redundant)?;
        let each = coin("noise_independent", self.noise_independent)?;
        self.sizes().draw(&schema, seed, |_, length, rng, out| {
            chain.fill(length, 1, rng, out, |y, rng, values| {
                values.resize(self.copies, noisy_copy(y, once, rng));
                values.extend((0..self.copies).map(|_| noisy_copy(y, each, rng)));
            })
        })
    }
}
