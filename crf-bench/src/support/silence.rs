//! Progress without a terminal: nothing is shown.

/// A bar that nobody sees.
pub(crate) struct Bar;

impl Bar {
    pub(crate) fn set_position(&self, _position: u64) {}

    pub(crate) fn finish_and_clear(&self) {}
}

/// A bar for work of a known length.
pub(crate) fn bar(_title: &str, _length: usize) -> Bar {
    Bar
}
