use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Result, Rng, Schema, Seed, Source, Splits,
    Value, require,
};
use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Days of weather with a channel of every sort: little data on which every plugin can be tried.
///
/// The weather of a day is mostly that of the day before. The real channel `temperature`, the symbols `coin` and `word`, the
/// attributes `signs`, and two clouds that move (`cloud1.x`, `cloud1.y`, …) each tell it with noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Weather {
    /// How many of the labels `rain`, `sun` and `snow` there are.
    pub labels: usize,
    /// How many sequences each part has.
    pub sequences: usize,
    /// How many days each sequence has.
    pub days: usize,
    /// The probability that a channel shows another weather.
    pub noise: f64,
    /// The probability that a day of the training data has no label.
    pub unlabelled: f64,
    /// Whether there are data for choices.
    pub holdout: bool,
}

impl Default for Weather {
    fn default() -> Self {
        Weather { labels: 2, sequences: 4, days: 10, noise: 0.2, unlabelled: 0.0, holdout: true }
    }
}

crf_core::plugin!("source", Weather, "weather", example = "labels = 3");

const LABELS: [&str; 3] = ["rain", "sun", "snow"];
const WORDS: [&str; 3] = ["wet", "dry", "white"];
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
        let labels = Alphabet::new(LABELS[..self.labels].iter().copied());
        let schema = Arc::new(Schema::chain(channels.collect(), labels)?);
        let part = |name: &str, unlabelled: f64| self.draw(&schema, &mut seed.child(name).rng(), unlabelled);
        Ok(Splits {
            train: part("train", self.unlabelled)?,
            holdout: self.holdout.then(|| part("holdout", 0.0)).transpose()?,
            test: part("test", 0.0)?,
        })
    }
}

impl Weather {
    fn draw(&self, schema: &Arc<Schema>, rng: &mut Rng, unlabelled: f64) -> Result<Dataset> {
        let n_labels = self.labels as u32;
        let mut data = DatasetBuilder::new(schema.clone());
        for _ in 0..self.sequences {
            let mut clouds = [0.0; 4];
            let mut label = rng.random_range(0..n_labels);
            for _ in 0..self.days {
                if !rng.random_bool(STAY) {
                    label = rng.random_range(0..n_labels);
                }
                let mut seen =
                    || if rng.random_bool(self.noise) { rng.random_range(0..n_labels) } else { label };
                let (coin, word, sign, wind) = (seen(), seen(), seen(), seen());
                clouds.iter_mut().for_each(|place| *place += f64::from(wind) * rng.random::<f64>());
                let mut values = vec![
                    Value::Real(f64::from(label) + 3.0 * self.noise * (rng.random::<f64>() - 0.5)),
                    Value::Symbol(coin % 2),
                    Value::Symbol(word),
                ];
                let signs = [(sign, 1.0)];
                values.push(Value::Bag(&signs));
                values.extend(clouds.map(Value::Real));
                data.push(&values, (!rng.random_bool(unlabelled)).then_some(label))?;
            }
            data.end_chain()?;
        }
        Ok(data.finish())
    }
}
