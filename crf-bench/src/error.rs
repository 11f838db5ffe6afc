//! The error type of the crate, and the exit code of each error.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use crf_core::printable;

/// A message of several lines, as of a parser that shows the place.
fn lines(message: &str) -> String {
    message.lines().map(printable).collect::<Vec<_>>().join("\n")
}

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the crate: wrong configs and options, failed cells, unusable files and data.
///
/// Messages pass no control character of a name or a value on to the terminal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A config or an option of the command line cannot be used.
    #[error("{}: {}", printable(location), printable(message))]
    Config {
        /// `FILE:LINE:COLUMN`, a file, or an option.
        location: String,
        /// The reason.
        message: String,
    },
    /// A cell of the experiment failed.
    #[error("{}: {source}", printable(cell))]
    Cell {
        /// The name of the cell: method, sweep point and trial.
        cell: String,
        /// The reason.
        source: crf_core::Error,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", printable(path.display()))]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A model file cannot be used.
    #[error("{}: {}", printable(path.display()), printable(message))]
    Model {
        /// The file.
        path: PathBuf,
        /// The reason, and what was expected.
        message: String,
    },
    /// Data, features or a model were refused.
    #[error(transparent)]
    Core(#[from] crf_core::Error),
    /// A value could not be read or written in some format.
    #[error("{what}: {}", lines(message))]
    Format {
        /// The value.
        what: &'static str,
        /// The error of the format.
        message: String,
    },
    /// An external command failed.
    #[error("`{}` failed", printable(.0))]
    Command(String),
}

impl Error {
    /// The error of a config or an option that cannot be used.
    pub fn config(location: impl Display, message: impl Display) -> Self {
        Error::Config { location: location.to_string(), message: message.to_string() }
    }

    /// The error of a file that could not be read or written.
    pub fn io(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_owned();
        |source| Error::Io { path, source }
    }

    /// The error of a value that could not be read or written in some format.
    pub fn format<E: Display>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Error::Format { what, message: error.to_string() }
    }

    /// True if the reader of our output has gone away, which is no failure.
    pub fn is_broken_pipe(&self) -> bool {
        let mut error: Option<&dyn std::error::Error> = Some(self);
        while let Some(cause) = error {
            if let Some(io) = cause.downcast_ref::<std::io::Error>() {
                return io.kind() == std::io::ErrorKind::BrokenPipe;
            }
            error = cause.source();
        }
        false
    }

    /// The exit code of the process: 2 for a wrong config or option, 1 for a failure at run time.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, Error::Config { .. }) { 2 } else { 1 }
    }
}
