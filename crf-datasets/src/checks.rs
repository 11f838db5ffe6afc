use crf_core::{Result, require};

/// Refuses values that are not finite and above 0; `key` is the setting that holds the value.
pub(crate) fn positive(key: &str, value: f64) -> Result<()> {
    require(value.is_finite() && value > 0.0, key, "a finite number above 0", value)
}

/// Refuses values that are not finite and at least 0; `key` is the setting that holds the value.
pub(crate) fn not_negative(key: &str, value: f64) -> Result<()> {
    require(value.is_finite() && value >= 0.0, key, "a finite number of at least 0", value)
}
