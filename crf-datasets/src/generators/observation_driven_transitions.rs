use std::sync::Arc;

use crf_core::{Alphabet, Channel, ChannelKind, Result, Schema, Seed, Source, Splits, Value};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::generators::support::draws::{binary_labels, coin, noisy_copy};
use crate::generators::support::label_chain::LabelChain;
use crate::generators::support::splits::{Size, SplitSizes};

/// Binary labels whose transitions depend on a coin observed one step earlier (Vail 2008, §2.6.3).
///
/// A position has the real channel `copy`, its label with noise, and the channel of symbols `coin`,
/// a fair coin that is independent of its own label. After `heads` the label stays with probability
/// p, after `tails` it changes with probability p. Only a model whose transitions depend on the
/// previous coin can use it, as figure 2.4 shows:
/// `{ transition = { type = "lag", of = "equals" } }`.
///
/// The thesis draws p from [0, 1]; here it is a setting to sweep. The thesis prints no length of
/// sequences either; 1000 positions are our choice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ObservationDrivenTransitions {
    /// Probability that a label stays after heads, and that it changes after tails.
    pub p: f64,
    /// Probability that the copy of the label is wrong.
    pub noise: f64,
    /// Size of the training data.
    pub train: Size,
    /// Size of the validation data; none if omitted.
    pub holdout: Option<Size>,
    /// Size of the test data.
    pub test: Size,
}

impl Default for ObservationDrivenTransitions {
    fn default() -> Self {
        ObservationDrivenTransitions {
            p: 0.9,
            noise: 0.25,
            train: Size { sequences: 1, length: 1000 },
            holdout: None,
            test: Size { sequences: 1, length: 1000 },
        }
    }
}

impl ObservationDrivenTransitions {
    fn sizes(&self) -> SplitSizes {
        SplitSizes { train: self.train, holdout: self.holdout, test: self.test }
    }
}

crf_core::plugin!(
    "source",
    ObservationDrivenTransitions,
    "observation-driven-transitions",
    example = "p = 0.9"
);

#[typetag::serde(name = "observation-driven-transitions")]
impl Source for ObservationDrivenTransitions {
    fn check(&self) -> Result<()> {
        coin("p", self.p)?;
        coin("noise", self.noise)?;
        self.sizes().check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        let sides = Alphabet::new(["tails", "heads"]);
        let channels = vec![
            Channel { name: "copy".into(), kind: ChannelKind::Real },
            Channel { name: "coin".into(), kind: ChannelKind::Symbol(sides) },
        ];
        let schema = Arc::new(Schema::chain(channels, binary_labels())?);
        let after = [LabelChain::new("p", 1.0 - self.p, 2)?, LabelChain::new("p", self.p, 2)?]; // tails, heads
        let noise = coin("noise", self.noise)?;
        self.sizes().draw(&schema, seed, |_, length, rng, out| {
            let mut label = None;
            let mut chain = &after[0];
            for _ in 0..length {
                let y = chain.step(label, rng);
                let side = rng.random_range(0..2_u32);
                out.push(&[noisy_copy(y, noise, rng), Value::Symbol(side)], Some(y))?;
                label = Some(y);
                chain = &after[side as usize];
            }
            out.end_chain()
        })
    }
}
