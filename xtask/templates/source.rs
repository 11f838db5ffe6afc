use std::sync::Arc;

use crf_core::{
    Alphabet, Channel, ChannelKind, Dataset, DatasetBuilder, Result, Schema, Seed, Source, Splits, Value,
    require,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The data and their origin, in one sentence (author year, section).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewPlugin {
    /// Number of positions of each part.
    pub length: u32,
}

impl Default for NewPlugin {
    fn default() -> Self {
        NewPlugin { length: 10 }
    }
}

crf_core::plugin!("source", NewPlugin, "new-plugin");

#[typetag::serde(name = "new-plugin")]
impl Source for NewPlugin {
    fn check(&self) -> Result<()> {
        require(self.length > 0, "length", "at least 1", self.length)
    }

    fn load(&self, _seed: &Seed) -> Result<Splits> {
        // Every random number comes from `seed.child("…").rng()`, so that a trial is the same
        // whenever it runs.
        let channels = vec![Channel { name: "copy".to_owned(), kind: ChannelKind::Real }];
        let schema = Arc::new(Schema::chain(channels, Alphabet::new(["a", "b"]))?);
        let part = || -> Result<Dataset> {
            let mut data = DatasetBuilder::new(schema.clone());
            for label in (0..self.length).map(|t| t % 2) {
                data.push(&[Value::Real(f64::from(label))], Some(label))?;
            }
            data.end_chain()?;
            Ok(data.finish())
        };
        Ok(Splits { train: part()?, holdout: None, test: part()? })
    }
}
