//! Progress without the feature `terminal`: nothing is shown.

/// A progress bar that is never shown.
pub(crate) struct Bar;

impl Bar {
    pub(crate) fn set_position(&self, _position: u64) {}

    pub(crate) fn finish_and_clear(&self) {}
}

/// A progress bar for work of known length.
pub(crate) fn bar(_title: &str, _length: usize) -> Bar {
    Bar
}
