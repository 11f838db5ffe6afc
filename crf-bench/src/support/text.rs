//! Words for numbers and paths.

use std::path::Path;

use crf_core::printable;

/// A path in a message: no character of it is obeyed by the terminal.
pub(crate) fn shown(path: &Path) -> String {
    printable(path.display())
}

/// `1 trial` or `3 trials`.
pub(crate) fn plural(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}
