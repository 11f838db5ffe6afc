use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crf_core::{Error, Result};

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

/// A file that cannot be read, and what to do.
pub(crate) fn missing(place: &str, why: &str, help: &str) -> Error {
    Error::data(format!(
        "cannot read `{place}`: {why}; set CRF_DATA to the directory that holds the file{help}"
    ))
}
