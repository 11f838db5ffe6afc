use std::sync::Arc;

use crf_core::{Dataset, DatasetBuilder, Result, Rng, Schema, Seed, Splits, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Size of one split of a trial's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Size {
    /// Number of sequences; 1 if omitted.
    pub sequences: usize,
    /// Number of positions per sequence; 1000 if omitted.
    pub length: usize,
}

impl Default for Size {
    fn default() -> Self {
        Size { sequences: 1, length: 1000 }
    }
}

impl Size {
    /// Refuses splits without any position; `key` is the setting that holds the size.
    fn check(&self, key: &str) -> Result<()> {
        require(self.sequences > 0, &format!("{key}.sequences"), "at least 1", self.sequences)?;
        require(self.length > 0, &format!("{key}.length"), "at least 1", self.length)
    }
}

/// One split of a trial's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Split {
    Train,
    Holdout,
    Test,
}

impl Split {
    /// Setting that holds the size of the split; also the name of its seed.
    fn key(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Holdout => "holdout",
            Split::Test => "test",
        }
    }
}

/// Sizes of all splits of a trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SplitSizes {
    pub(crate) train: Size,
    pub(crate) holdout: Option<Size>,
    pub(crate) test: Size,
}

impl SplitSizes {
    /// Refuses splits without any position.
    pub(crate) fn check(&self) -> Result<()> {
        self.train.check(Split::Train.key())?;
        self.holdout.iter().try_for_each(|size| size.check(Split::Holdout.key()))?;
        self.test.check(Split::Test.key())
    }

    /// Draws all splits; `fill` adds one sequence of the given length to a split and closes it.
    ///
    /// Every split has a seed of its own, and every sequence one below it. So neither the size of
    /// another split nor the number of sequences changes a sequence.
    pub(crate) fn draw(
        &self,
        schema: &Arc<Schema>,
        seed: &Seed,
        mut fill: impl FnMut(Split, usize, &mut Rng, &mut DatasetBuilder) -> Result<()>,
    ) -> Result<Splits> {
        let mut draw = |split: Split, size: Size| -> Result<Dataset> {
            let seed = seed.child(split.key());
            let mut data = DatasetBuilder::new(schema.clone());
            for k in 0..size.sequences {
                fill(split, size.length, &mut seed.child(&k.to_string()).rng(), &mut data)?;
            }
            Ok(data.finish())
        };
        Ok(Splits {
            train: draw(Split::Train, self.train)?,
            holdout: self.holdout.map(|size| draw(Split::Holdout, size)).transpose()?,
            test: draw(Split::Test, self.test)?,
        })
    }
}
