use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A file in the making: written beside its target and put into place when it is whole.
#[derive(Debug)]
pub(crate) struct Draft {
    target: PathBuf,
    draft: PathBuf,
}

impl Draft {
    /// Prepares to write `target`, and fails now if that will not be possible.
    pub(crate) fn new(target: &Path) -> Result<Self> {
        let refused = |why: String| Error::Io { path: target.to_owned(), source: std::io::Error::other(why) };
        let name = match target.file_name() {
            Some(name) if !target.is_dir() => name,
            _ => return Err(refused("cannot be written: a directory, not the name of a file".to_owned())),
        };
        let draft = target.with_file_name(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
        File::create(&draft).map_err(|error| refused(format!("cannot be written: {error}")))?;
        fs::remove_file(&draft).map_err(Error::io(&draft))?;
        Ok(Draft { target: target.to_owned(), draft })
    }

    /// Writes the file, waits until it is on the disk, and puts it into its place, instead of what was there.
    pub(crate) fn write(self, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        self.fill(fill)?.sync_all().map_err(Error::io(&self.target))?;
        self.place()
    }

    /// [`Draft::write`] without waiting, for what can be made again.
    pub(crate) fn write_soon(self, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        self.fill(fill)?;
        self.place()
    }

    fn fill(&self, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<File> {
        let mut file = BufWriter::new(File::create(&self.draft).map_err(Error::io(&self.draft))?);
        fill(&mut file)?;
        file.into_inner().map_err(|error| Error::io(&self.target)(error.into_error()))
    }

    fn place(&self) -> Result<()> {
        fs::rename(&self.draft, &self.target).map_err(Error::io(&self.target))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After `write` there is nothing left; after an error nothing shall be left.
        let _ = fs::remove_file(&self.draft);
    }
}
