use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Result, Rng, Schema, Seed, Source, Splits,
    Value, require,
};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::generators::support::splits::{Size, SplitSizes};

/// Days of weather with a channel of every kind: little data on which every plugin can be tried.
///
/// The weather of a day is mostly that of the previous day. The real channel `temperature`, the
/// symbols `coin` and `word`, the attributes `signs`, and two moving clouds (`cloud1.x`,
/// `cloud1.y`, …) each depend on it, with noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Weather {
    /// Number of labels: the first 1, 2 or 3 of `rain`, `sun` and `snow`.
    pub labels: usize,
    /// If true, days of the same weather are a chunk: `B-rain` on the first of them, then `I-rain`.
    pub chunks: bool,
    /// Number of sequences of each split.
    pub sequences: usize,
    /// Number of days of each sequence.
    pub days: usize,
    /// Probability that a channel shows a random weather instead of that of the day.
    pub noise: f64,
    /// Probability that a day of the training data has no label.
    pub unlabelled: f64,
    /// If true, there are validation data.
    pub holdout: bool,
}

impl Default for Weather {
    fn default() -> Self {
        Weather {
            labels: 2,
            chunks: false,
            sequences: 4,
            days: 10,
            noise: 0.2,
            unlabelled: 0.0,
            holdout: true,
        }
    }
}

crf_core::plugin!("source", Weather, "weather", example = "labels = 3");

const LABELS: [&str; 3] = ["rain", "sun", "snow"];
const WORDS: [&str; 3] = ["wet", "dry", "white"];
/// Probability that no new weather is drawn for a day.
const STAY: f64 = 0.8;

#[typetag::serde(name = "weather")]
impl Source for Weather {
    fn check(&self) -> Result<()> {
        require((1..=LABELS.len()).contains(&self.labels), "labels", "1, 2 or 3", self.labels)?;
        require(self.sequences > 0, "sequences", "at least 1", self.sequences)?;
        require(self.days > 0, "days", "at least 1", self.days)?;
        require((0.0..=1.0).contains(&self.noise), "noise", "between 0 and 1", self.noise)?;
        require((0.0..=1.0).contains(&self.unlabelled), "unlabelled", "between 0 and 1", self.unlabelled)
    }

    fn load(&self, seed: &Seed) -> Result<Splits> {
        let words = || Alphabet::new(WORDS);
        let mut channels = vec![
            ("temperature", ChannelKind::Real),
            ("coin", ChannelKind::Symbol(Alphabet::new(["heads", "tails"]))),
            ("word", ChannelKind::Symbol(words())),
            ("signs", ChannelKind::Bag(words())),
        ];
        channels
            .extend(["cloud1.x", "cloud1.y", "cloud2.x", "cloud2.y"].map(|name| (name, ChannelKind::Real)));
        let channels = channels.into_iter().map(|(name, kind)| Channel { name: name.to_owned(), kind });
        let labels = &LABELS[..self.labels];
        let labels = match self.chunks {
            false => Alphabet::new(labels.iter().copied()),
            true => {
                Alphabet::new(labels.iter().flat_map(|label| [format!("B-{label}"), format!("I-{label}")]))
            }
        };
        let schema = Arc::new(Schema::chain(channels.collect(), labels)?);
        let size = Size { sequences: self.sequences, length: self.days };
        let sizes = SplitSizes { train: size, holdout: self.holdout.then_some(size), test: size };
        sizes.require_memory(&schema)?;
        let split = |name: &str, unlabelled: f64| self.draw(&schema, &mut seed.child(name).rng(), unlabelled);
        Ok(Splits {
            train: split("train", self.unlabelled)?,
            holdout: self.holdout.then(|| split("holdout", 0.0)).transpose()?,
            test: split("test", 0.0)?,
        })
    }
}

impl Weather {
    /// Draws the sequences of one split.
    fn draw(&self, schema: &Arc<Schema>, rng: &mut Rng, unlabelled: f64) -> Result<Dataset> {
        let n_labels = self.labels as u32;
        let mut data = DatasetBuilder::new(schema.clone());
        for _ in 0..self.sequences {
            let mut clouds = [0.0; 4];
            let mut label = rng.random_range(0..n_labels);
            let mut before = None;
            for _ in 0..self.days {
                if !rng.random_bool(STAY) {
                    label = rng.random_range(0..n_labels);
                }
                let name = if self.chunks { 2 * label + u32::from(before == Some(label)) } else { label };
                before = Some(label);
                let mut observe =
                    || if rng.random_bool(self.noise) { rng.random_range(0..n_labels) } else { label };
                let (coin, word, sign, wind) = (observe(), observe(), observe(), observe());
                clouds.iter_mut().for_each(|coordinate| *coordinate += f64::from(wind) * rng.random::<f64>());
                let mut values = vec![
                    Value::Real(f64::from(label) + 3.0 * self.noise * (rng.random::<f64>() - 0.5)),
                    Value::Symbol(coin % 2),
                    Value::Symbol(word),
                ];
                let signs = [(sign, 1.0)];
                values.push(Value::Bag(&signs));
                values.extend(clouds.map(Value::Real));
                data.push(&values, (!rng.random_bool(unlabelled)).then_some(name))?;
            }
            data.end_chain()?;
        }
        Ok(data.finish())
    }
}
