use std::sync::Arc;

use crf_core::{Result, Schema, Seed, Source, Splits, Value, require};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::channels::real;
use crate::checks::count;
use crate::generators::support::draws::{binary_labels, indicator};
use crate::generators::support::label_chain::LabelChain;
use crate::generators::support::splits::{Size, SplitSizes};

/// Binary labels that depend on an earlier label, with many weak observations (Liao et al. 2007,
/// §5.1).
///
/// A label equals the one `distance` steps back with probability `stay`; the first ones are
/// uniform. The real channels `x1`, `x2`, … are 0 or 1. The probability of a 1 depends on the
/// label; the seed draws it between `lowest` and `highest` for each channel and label. Figure 1(a)
/// sweeps `stay` with `distance` 1. Figure 1(b) sweeps `distance` from 1 to 5, where the source
/// `linked` with `distances = [2, 3, 4, 5]` makes the graphs of a model that does not know the
/// distance.
///
/// The paper draws ten chains per observation model and tests on one of them at a time. Here a
/// trial has nine training chains and one test chain, with an observation model of its own: trials
/// are independent, folds would not be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WeakObservations {
    /// Number of steps back to the label on which a label depends; at least 1.
    pub distance: usize,
    /// Probability that the two labels are equal.
    pub stay: f64,
    /// Number of channels; at least 1.
    pub observations: usize,
    /// Lower bound of the probability that an observation is 1.
    pub lowest: f64,
    /// Upper bound of the probability that an observation is 1.
    pub highest: f64,
    /// Size of the training data.
    pub train: Size,
    /// Size of the validation data; none if omitted.
    pub holdout: Option<Size>,
    /// Size of the test data.
    pub test: Size,
}

impl Default for WeakObservations {
    fn default() -> Self {
        WeakObservations {
            distance: 1,
            stay: 0.9,
            observations: 50,
            lowest: 0.45,
            highest: 0.55,
            train: Size { sequences: 9, length: 2000 },
            holdout: None,
            test: Size { sequences: 1, length: 2000 },
        }
    }
}

impl WeakObservations {
    fn sizes(&self) -> SplitSizes {
        SplitSizes { train: self.train, holdout: self.holdout, test: self.test }
    }
}

crf_core::plugin!("source", WeakObservations, "weak-observations", example = "distance = 3");

#[typetag::serde(name = "weak-observations")]
impl Source for WeakObservations {
    fn check(&self) -> Result<()> {
        require(self.distance >= 1, "distance", "at least 1", self.distance)?;
        LabelChain::new("stay", self.stay, 2)?;
        count("observations", 1, self.observations)?;
        let is_probability = |p: f64| (0.0..=1.0).contains(&p);
        require(is_probability(self.lowest), "lowest", "a probability between 0 and 1", self.lowest)?;
        let is_above = is_probability(self.highest) && self.highest >= self.lowest;
        require(is_above, "highest", "a probability of at least `lowest`", self.highest)?;
        self.sizes().check()
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        self.check()?;
        let channels = real((1..=self.observations).map(|k| format!("x{k}")));
        let schema = Arc::new(Schema::chain(channels, binary_labels())?);
        let chain = LabelChain::new("stay", self.stay, 2)?;
        let mut rng = seed.child("observation model").rng();
        let mut draw = || rng.random_range(self.lowest..=self.highest);
        let models: Vec<[f64; 2]> = (0..self.observations).map(|_| [draw(), draw()]).collect();
        self.sizes().draw(&schema, seed, |_, length, rng, out| {
            chain.fill(length, self.distance, rng, out, |y, rng, values| {
                let observe = |model: &[f64; 2]| indicator(rng.random_bool(model[y as usize]));
                values.extend(models.iter().map(observe).map(Value::Real));
            })
        })
    }
}
