use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crf_core::{Error, Result};

use crate::text::input::open;
use crate::text::lines::Lines;

/// Path of a data file: below `directory`, the value of CRF_DATA, unless `file` is absolute.
///
/// `help` ends the message if there is no such directory.
pub(crate) fn locate(file: &Path, directory: Option<OsString>, help: &str) -> Result<PathBuf> {
    if file.is_absolute() {
        return Ok(file.to_owned());
    }
    match directory {
        Some(directory) => Ok(Path::new(&directory).join(file)),
        None => Err(unreadable(&format!("$CRF_DATA/{}", file.display()), "CRF_DATA is not set", help)),
    }
}

/// Parses the lines of a file, which is below CRF_DATA unless its path is absolute.
pub(crate) fn read<T>(file: &Path, help: &str, parse: impl FnOnce(Lines<'_>) -> Result<T>) -> Result<T> {
    let path = locate(file, std::env::var_os("CRF_DATA"), help)?;
    let mut from = open(&path).map_err(|error| with_help(error, help))?;
    parse(Lines::new(&path.display().to_string(), &mut *from))
}

/// The same error; that of a missing file also says what would help.
pub(crate) fn with_help(error: Error, help: &str) -> Error {
    match error {
        Error::Io { path, source } if source.kind() == ErrorKind::NotFound => {
            unreadable(&path.display().to_string(), &source.to_string(), help)
        }
        error => error,
    }
}

/// Error about a file that cannot be read, with what would help.
pub(crate) fn unreadable(file: &str, why: &str, help: &str) -> Error {
    Error::data(format!(
        "cannot read `{file}`: {why}; set CRF_DATA to the directory that holds the file{help}"
    ))
}
