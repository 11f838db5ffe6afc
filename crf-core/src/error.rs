use std::fmt::{Display, Write as _};
use std::path::PathBuf;

use crate::printable::printable;

/// Result with the error type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Error in input, settings or a question. Broken invariants of our own panic instead.
///
/// Messages pass no control character of a name or a value on to the terminal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is out of its range.
    #[error("{}", printable(format_args!("`{key}` must be {want}, got {got}")))]
    Setting {
        /// Key of the setting as the config spells it.
        key: String,
        /// Accepted values.
        want: String,
        /// Received value.
        got: String,
    },
    /// A name refers to nothing.
    #[error("{}", printable(format_args!("unknown {what} `{name}`{}", hint(name, known))))]
    Unknown {
        /// Kind of the thing that was looked for.
        what: &'static str,
        /// Name that was not found.
        name: String,
        /// Names that exist.
        known: Vec<String>,
    },
    /// The data cannot be used as they are.
    #[error("{}", printable(.0))]
    Data(String),
    /// No labelling has a positive probability.
    #[error("infeasible: {}", printable(.0))]
    Infeasible(String),
    /// An algorithm was asked for something it does not do.
    #[error("`{tag}` {}", printable(what))]
    Unsupported {
        /// Tag of the plugin.
        tag: &'static str,
        /// Missing capability, and the plugins that have it.
        what: String,
    },
    /// A number left the range of finite values.
    #[error("not a finite number: {}", printable(.0))]
    NotFinite(String),
    /// An answer or a table would need more memory than the process may use.
    #[error("{} would need {need} of memory, and {available} are available; {advice}", printable(what))]
    OutOfMemory {
        /// Thing that needs the memory.
        what: String,
        /// Estimated size.
        need: String,
        /// Memory that the process may still use.
        available: String,
        /// Settings or data that need less.
        advice: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", printable(path.display()))]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// Error with its location.
    #[error("{}: {source}", printable(place))]
    At {
        /// Location: a sequence, a method, a file.
        place: String,
        /// Error at that location.
        source: Box<Error>,
    },
    /// Error of a plugin crate.
    #[error(transparent)]
    Plugin(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Error of a setting that is out of range.
    pub fn setting(key: impl Into<String>, want: impl Into<String>, got: impl Display) -> Self {
        Error::Setting { key: key.into(), want: want.into(), got: got.to_string() }
    }

    /// Error of data that cannot be used.
    pub fn data(message: impl Into<String>) -> Self {
        Error::Data(message.into())
    }

    /// Error of a name that is none of `known`.
    pub fn unknown<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Error::Unknown { what, name: name.to_owned(), known: known.into_iter().map(str::to_owned).collect() }
    }

    /// Adds the location of the error in front of its message.
    pub fn at(self, place: impl Into<String>) -> Self {
        Error::At { place: place.into(), source: Box::new(self) }
    }
}

/// Returns an error of a setting unless `ok`; used by `check` of plugins.
pub fn require(ok: bool, key: &str, want: &str, got: impl Display) -> Result<()> {
    if ok { Ok(()) } else { Err(Error::setting(key, want, got)) }
}

/// Returns an error unless `ok`: the parts of something read from a file must be consistent.
pub(crate) fn require_consistent(ok: bool) -> Result<()> {
    if ok { Ok(()) } else { Err(Error::data("the stored features do not fit each other or their schema")) }
}

/// Name among `known` that is nearest to `name`, if any is near.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(2);
    let near = known.into_iter().map(|other| (strsim::damerau_levenshtein(name, other), other));
    near.filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, other)| other)
}

/// Hint for an unknown name: `, did you mean …?` if a known name is near, otherwise the list of
/// known names.
pub fn hint<S: AsRef<str>>(name: &str, known: &[S]) -> String {
    if let Some(near) = nearest(name, known.iter().map(AsRef::as_ref)) {
        return format!(", did you mean `{near}`?");
    }
    let mut list = String::new();
    for (i, other) in known.iter().take(12).enumerate() {
        let _ = write!(list, "{}`{}`", if i == 0 { "; there is " } else { ", " }, other.as_ref());
    }
    if known.len() > 12 {
        let _ = write!(list, " and {} more", known.len() - 12);
    }
    list
}
