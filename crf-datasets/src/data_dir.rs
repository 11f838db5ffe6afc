use std::ffi::OsString;
use std::io::{BufRead, ErrorKind};
use std::path::{Path, PathBuf};

use crf_core::{Error, Result};

use crate::format;

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

/// Opens a file that was located; gzip is read through.
pub(crate) fn open(path: &Path, help: &str) -> Result<Box<dyn BufRead>> {
    format::open(path).map_err(|error| explained(error, help))
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
