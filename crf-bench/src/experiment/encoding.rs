use std::sync::Arc;

use crf_core::{Dataset, EncodedDataset, FittedFeatures, Result};

use crate::support::progress;

/// Encodings of more values than this, zeros included, are announced and shown as they go on.
const LARGE: usize = 50_000_000;

/// Encodes data; where that takes long, says how large the result becomes and how far it is.
pub(crate) fn encode(features: &FittedFeatures, data: Arc<Dataset>) -> Result<EncodedDataset> {
    if features.n_functions().saturating_mul(data.n_positions()) < LARGE {
        return features.encode(data);
    }
    let estimate = features.estimate(&data)?;
    tracing::info!(%estimate, "encoding");
    let bar = progress::bar(&format!("encoding {estimate}"), data.n_positions());
    let corpus = features.encode_watched(data, &mut |done| bar.set_position(done as u64));
    bar.finish_and_clear();
    corpus
}
