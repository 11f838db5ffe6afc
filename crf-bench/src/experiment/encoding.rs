//! Encoding with a progress bar.

use std::sync::Arc;

use crf_core::{Dataset, EncodedDataset, FittedFeatures, Result};

use crate::support::progress;

/// Encodings of more values than this, zeros included, are announced and have a progress bar.
const LARGE: usize = 50_000_000;

/// Encodes data; a large encoding logs its size and shows a progress bar.
pub(crate) fn encode(features: &FittedFeatures, data: Arc<Dataset>) -> Result<EncodedDataset> {
    if features.n_functions().saturating_mul(data.n_positions()) < LARGE {
        return features.encode(data);
    }
    let estimate = features.estimate(&data)?;
    tracing::info!(%estimate, "encoding");
    let bar = progress::bar(&format!("encoding {estimate}"), data.n_positions());
    let encoded = features.encode_watched(data, &mut |done| bar.set_position(done as u64));
    bar.finish_and_clear();
    encoded
}
