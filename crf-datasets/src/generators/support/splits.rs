use std::sync::Arc;

use crf_core::{
    ChannelKind, Dataset, DatasetBuilder, Result, Rng, Schema, Seed, Splits, require, require_memory,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Greatest number of sequences, and of positions of a sequence. Numbers of nodes have 32 bits.
const MOST: usize = 1_000_000_000;

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
    /// Refuses splits without any position, and sizes that nobody means; `key` is the setting that
    /// holds the size.
    fn check(&self, key: &str) -> Result<()> {
        for (size, n) in [("sequences", self.sequences), ("length", self.length)] {
            let key = format!("{key}.{size}");
            require(n > 0, &key, "at least 1", n)?;
            require(n <= MOST, &key, "at most 1,000,000,000", n)?;
        }
        Ok(())
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

    /// Length of the longest sequence.
    pub(crate) fn longest(&self) -> usize {
        self.train.length.max(self.test.length).max(self.holdout.map_or(0, |size| size.length))
    }

    /// Refuses data that would not fit into the memory.
    pub(crate) fn require_memory(&self, schema: &Schema) -> Result<()> {
        let bytes_of = |kind: &ChannelKind| match kind {
            ChannelKind::Real => 8.0,
            ChannelKind::Symbol(_) => 4.0,
            ChannelKind::Bag(_) => 24.0,
        };
        let position = 8.0 + schema.channels().iter().map(|channel| bytes_of(&channel.kind)).sum::<f64>();
        let bytes = |size: &Size| size.sequences as f64 * (32.0 + size.length as f64 * position);
        let total = bytes(&self.train) + self.holdout.iter().map(bytes).sum::<f64>() + bytes(&self.test);
        require_memory(total, "the drawn data", "use fewer or shorter sequences")
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
        self.require_memory(schema)?;
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
