//! Predictions of a model file.

use crf_core::{EncodedDataset, Prediction, Query, Result, predict};

use crate::model::file::ModelFile;

impl ModelFile {
    /// Answers a query about every sequence of encoded data, on all threads.
    pub fn predict(&self, encoded: &EncodedDataset, query: Query) -> Result<Vec<Prediction>> {
        predict(&*self.contents.model.bind(encoded)?, encoded, &*self.settings.inference, query)
    }
}
