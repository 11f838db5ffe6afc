use crf_core::Alphabet;

/// Alphabet of `n_labels` labels whose names are `0`, `1`, …
pub(crate) fn numbered(n_labels: usize) -> Alphabet {
    Alphabet::new((0..n_labels).map(|label| label.to_string()))
}
