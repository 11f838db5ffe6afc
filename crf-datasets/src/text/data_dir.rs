use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crf_core::{Error, Result};

use crate::formats::format;
use crate::text::lines::Lines;

/// Where a file is: below `directory`, which is the value of CRF_DATA, unless its path is absolute.
///
/// `help` ends the message when there is no such directory.
pub(crate) fn locate(file: &Path, directory: Option<OsString>, help: &str) -> Result<PathBuf> {
    if file.is_absolute() {
        return Ok(file.to_owned());
    }
    match directory {
        Some(directory) => Ok(Path::new(&directory).join(file)),
        None => Err(missing(&format!("$CRF_DATA/{}", file.display()), "CRF_DATA is not set", help)),
    }
}

/// What `parse` makes of the lines of a file, which is looked for below CRF_DATA unless its path is absolute.
pub(crate) fn read<T>(file: &Path, help: &str, parse: impl FnOnce(Lines<'_>) -> Result<T>) -> Result<T> {
    let path = locate(file, std::env::var_os("CRF_DATA"), help)?;
    let mut from = format::open(&path).map_err(|error| explained(error, help))?;
    parse(Lines::new(&path.display().to_string(), &mut *from))
}

/// The same error, with what to do when it is a file that is not there.
pub(crate) fn explained(error: Error, help: &str) -> Error {
    match error {
        Error::Io { path, source } if source.kind() == ErrorKind::NotFound => {
            missing(&path.display().to_string(), &source.to_string(), help)
        }
        error => error,
    }
}

/// A file that cannot be read, and what to do.
pub(crate) fn missing(place: &str, why: &str, help: &str) -> Error {
    Error::data(format!(
        "cannot read `{place}`: {why}; set CRF_DATA to the directory that holds the file{help}"
    ))
}
