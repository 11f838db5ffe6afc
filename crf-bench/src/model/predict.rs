use crf_core::{EncodedDataset, Prediction, Query, Result, predict};

use crate::model::file::ModelFile;

impl ModelFile {
    /// Answers a question about every sequence of data that the model's features have encoded, on all threads.
    pub fn predict(&self, encoded: &EncodedDataset, query: Query) -> Result<Vec<Prediction>> {
        predict(&*self.content.model.bind(encoded)?, encoded, &*self.serving.inference, query)
    }
}
