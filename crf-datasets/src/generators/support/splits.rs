use std::sync::Arc;

use crf_core::{Dataset, DatasetBuilder, Result, Rng, Schema, Seed, Splits};

use crate::generators::support::size::Size;

/// A part of one trial's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Train,
    Holdout,
    Test,
}

impl Part {
    /// The setting that holds the part's size, and the name of its seed.
    fn key(self) -> &'static str {
        match self {
            Part::Train => "train",
            Part::Holdout => "holdout",
            Part::Test => "test",
        }
    }
}

/// The sizes of all parts of a trial.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts {
    pub(crate) train: Size,
    pub(crate) holdout: Option<Size>,
    pub(crate) test: Size,
}

impl Parts {
    /// Refuses parts without any position.
    pub(crate) fn check(&self) -> Result<()> {
        self.train.check(Part::Train.key())?;
        self.holdout.iter().try_for_each(|size| size.check(Part::Holdout.key()))?;
        self.test.check(Part::Test.key())
    }

    /// Draws all parts; `fill` adds a sequence of the given length to one of them and closes it.
    ///
    /// Every part has a seed of its own, and every sequence one below it: neither the size of another part
    /// nor the number of sequences changes what a sequence holds.
    pub(crate) fn draw(
        &self,
        schema: &Arc<Schema>,
        seed: &Seed,
        mut fill: impl FnMut(Part, usize, &mut Rng, &mut DatasetBuilder) -> Result<()>,
    ) -> Result<Splits> {
        let mut part = |part: Part, size: Size| -> Result<Dataset> {
            let seed = seed.child(part.key());
            let mut data = DatasetBuilder::new(schema.clone());
            for k in 0..size.sequences {
                fill(part, size.length, &mut seed.child(&k.to_string()).rng(), &mut data)?;
            }
            Ok(data.finish())
        };
        Ok(Splits {
            train: part(Part::Train, self.train)?,
            holdout: self.holdout.map(|size| part(Part::Holdout, size)).transpose()?,
            test: part(Part::Test, self.test)?,
        })
    }
}
