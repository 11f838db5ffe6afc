use crf_core::{Error, Result};
use rand_distr::Normal;

/// Normal noise around 0, whose standard deviation is the setting `noise`.
pub(crate) fn noise(deviation: f64) -> Result<Normal<f64>> {
    let normal = Normal::new(0.0, deviation).ok().filter(|_| deviation >= 0.0);
    normal.ok_or_else(|| Error::setting("noise", "a finite number of at least 0", deviation))
}
