use std::fmt::Display;
use std::path::{Path, PathBuf};

/// The result of everything that can be refused.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong between a file and what is made of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An experiment file, or an option of the command line, cannot be used.
    #[error("{place}: {message}")]
    Config {
        /// `FILE:LINE:COLUMN`, a file, or an option.
        place: String,
        /// What is wrong there.
        message: String,
    },
    /// A cell of the experiment failed.
    #[error("{cell}: {source}")]
    Cell {
        /// The method, sweep point and trial.
        cell: String,
        /// What went wrong there.
        source: crf_core::Error,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A model file cannot be used.
    #[error("{}: {message}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what was expected.
        message: String,
    },
    /// Data, features or a model were refused.
    #[error(transparent)]
    Core(#[from] crf_core::Error),
    /// A result could not be written down.
    #[error("{what}: {message}")]
    Format {
        /// What was being written.
        what: &'static str,
        /// What the writer said.
        message: String,
    },
    /// A command that was run for the user failed.
    #[error("`{0}` failed")]
    Command(String),
}

impl Error {
    /// A config or an option that cannot be used.
    pub fn config(place: impl Display, message: impl Display) -> Self {
        Error::Config { place: place.to_string(), message: message.to_string() }
    }

    /// A file that could not be read or written.
    pub fn io(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_owned();
        |source| Error::Io { path, source }
    }

    /// A text or a value that could not be read or written.
    pub fn format<E: Display>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Error::Format { what, message: error.to_string() }
    }

    /// Whether the reader of our output has gone away, which is no failure.
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

    /// What the process returns: 2 for a wrong config, 1 for anything that fails while running.
    pub fn exit_code(&self) -> u8 {
        if matches!(self, Error::Config { .. }) { 2 } else { 1 }
    }
}
