use crf_core::{Result, require};

/// Refuses what is not above 0; `key` is the setting that holds the value.
pub(crate) fn positive(key: &str, value: f64) -> Result<()> {
    require(value.is_finite() && value > 0.0, key, "a finite number above 0", value)
}

/// Refuses what is below 0.
pub(crate) fn not_negative(key: &str, value: f64) -> Result<()> {
    require(value.is_finite() && value >= 0.0, key, "a finite number of at least 0", value)
}
