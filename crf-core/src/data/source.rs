use std::fmt::Debug;

use crate::Seed;
use crate::data::dataset::Dataset;
use crate::error::Result;

/// Source of datasets: a generator or a file loader.
#[typetag::serde(tag = "type")]
pub trait Source: Debug + Send + Sync {
    /// Rejects settings that can never work, before any data is drawn or read.
    fn check(&self) -> Result<()>;
    /// Loads or draws the data of one trial; the same seed gives the same data. All splits have one
    /// schema.
    fn load(&self, seed: &Seed) -> Result<Splits>;
}

/// Data of one trial, split by their use.
#[derive(Debug, Clone)]
pub struct Splits {
    /// Training data.
    pub train: Dataset,
    /// Validation data, for early stopping and the choice of models; `None` if the experiment needs
    /// none.
    pub holdout: Option<Dataset>,
    /// Test data.
    pub test: Dataset,
}
