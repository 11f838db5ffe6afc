use std::fmt::{Display, Write as _};
use std::path::PathBuf;

/// The result of everything that can be refused.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can be wrong with input, settings or a question; our own broken invariants panic instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is out of its range.
    #[error("`{key}` must be {want}, got {got}")]
    Setting {
        /// The setting as the config spells it.
        key: String,
        /// What would do.
        want: String,
        /// What was received.
        got: String,
    },
    /// A name refers to nothing.
    #[error("unknown {what} `{name}`{}", hint(.name, .known))]
    Unknown {
        /// What kind of thing was looked for.
        what: &'static str,
        /// The name that was not found.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// The data cannot be used as they are.
    #[error("{0}")]
    Data(String),
    /// No labelling has a positive probability.
    #[error("infeasible: {0}")]
    Infeasible(String),
    /// An algorithm was asked for something it does not do.
    #[error("`{tag}` {what}")]
    Unsupported {
        /// The plugin's tag.
        tag: &'static str,
        /// What it cannot do, and what could.
        what: String,
    },
    /// A number left the range of finite values.
    #[error("not a finite number: {0}")]
    NotFinite(String),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An error with the place where it happened.
    #[error("{place}: {source}")]
    At {
        /// A sequence, a method, a file.
        place: String,
        /// What went wrong there.
        source: Box<Error>,
    },
    /// A plugin crate's own error.
    #[error(transparent)]
    Plugin(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// A setting out of range.
    pub fn setting(key: impl Into<String>, want: impl Into<String>, got: impl Display) -> Self {
        Error::Setting { key: key.into(), want: want.into(), got: got.to_string() }
    }

    /// Unusable data.
    pub fn data(message: impl Into<String>) -> Self {
        Error::Data(message.into())
    }

    /// A name that is none of `known`.
    pub fn unknown<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Error::Unknown { what, name: name.to_owned(), known: known.into_iter().map(str::to_owned).collect() }
    }

    /// The same error, with the place where it happened in front.
    pub fn at(self, place: impl Into<String>) -> Self {
        Error::At { place: place.into(), source: Box::new(self) }
    }
}

/// Fails unless `ok`; the usual line of a plugin's `check`.
pub fn require(ok: bool, key: &str, want: &str, got: impl Display) -> Result<()> {
    if ok { Ok(()) } else { Err(Error::setting(key, want, got)) }
}

/// Fails unless what was read from a file fits together.
pub(crate) fn require_consistent(ok: bool) -> Result<()> {
    if ok { Ok(()) } else { Err(Error::data("the stored features do not fit each other or their schema")) }
}

/// The name among `known` that is most like `name`, if one is like it at all.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(2);
    let near = known.into_iter().map(|other| (strsim::damerau_levenshtein(name, other), other));
    near.filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, other)| other)
}

/// `, did you mean …?` when a name is near, otherwise the list of what there is.
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
