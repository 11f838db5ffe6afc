use std::fmt::Debug;

use crate::Seed;
use crate::data::dataset::Dataset;
use crate::error::Result;

/// Where datasets come from: generators and file loaders alike.
#[typetag::serde(tag = "type")]
pub trait Source: Debug + Send + Sync {
    /// Rejects settings that can never work, before any data is drawn or read.
    fn check(&self) -> Result<()>;
    /// The data of one trial; the same for the same seed. All splits have one schema.
    fn load(&self, seed: &Seed) -> Result<Splits>;
}

/// The parts of one trial's data.
#[derive(Debug, Clone)]
pub struct Splits {
    /// What models are trained on.
    pub train: Dataset,
    /// What choices are made on; nothing when the experiment makes none.
    pub holdout: Option<Dataset>,
    /// What results are measured on.
    pub test: Dataset,
}
