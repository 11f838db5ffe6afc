use crf_core::{Result, require};

/// Greatest number of channels, labels or other things of which each has a name.
const MOST: usize = 10_000;

/// Refuses numbers of things with a name that are below `least` or above 10,000; `key` is the
/// setting that holds the number.
pub(crate) fn count(key: &str, least: usize, n: usize) -> Result<()> {
    require(n >= least, key, &format!("at least {least}"), n)?;
    require(n <= MOST, key, "at most 10,000", n)
}

/// Refuses values that are not finite and above 0; `key` is the setting that holds the value.
pub(crate) fn positive(key: &str, value: f64) -> Result<()> {
    require(value.is_finite() && value > 0.0, key, "a finite number above 0", value)
}

/// Refuses values that are not finite and at least 0; `key` is the setting that holds the value.
pub(crate) fn not_negative(key: &str, value: f64) -> Result<()> {
    require(value.is_finite() && value >= 0.0, key, "a finite number of at least 0", value)
}
