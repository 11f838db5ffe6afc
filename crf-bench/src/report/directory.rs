use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A run's directory in the making: everything is written beside it and put into place at the end.
#[derive(Debug)]
pub(crate) struct Directory {
    target: PathBuf,
    draft: PathBuf,
}

impl Directory {
    /// Prepares to write `target`, which must be new, empty, or an older run.
    pub(crate) fn new(target: &Path) -> Result<Self> {
        let refused = |message: String| Error::config(format!("--out {}", target.display()), message);
        let name = target.file_name().ok_or_else(|| refused("not the name of a directory".to_owned()))?;
        if target.exists() {
            let mut entries = fs::read_dir(target).map_err(|error| refused(error.to_string()))?;
            if entries.next().is_some() && !target.join("results.jsonl").is_file() {
                return Err(refused("the directory holds something else than a run's results".to_owned()));
            }
        }
        let draft = format!(".{}.{}", name.to_string_lossy(), std::process::id());
        Ok(Directory { target: target.to_owned(), draft: target.with_file_name(draft) })
    }

    /// Adds a file.
    pub(crate) fn write(&self, name: &str, contents: &[u8]) -> Result<()> {
        fs::create_dir_all(&self.draft).map_err(Error::io(&self.draft))?;
        let path = self.draft.join(name);
        fs::write(&path, contents).map_err(Error::io(&path))
    }

    /// Puts the directory into its place, instead of what was there.
    pub(crate) fn finish(self) -> Result<PathBuf> {
        let old = self.draft.with_extension("old");
        if self.target.exists() {
            fs::rename(&self.target, &old).map_err(Error::io(&self.target))?;
        }
        if let Err(error) = fs::rename(&self.draft, &self.target) {
            // Better the old run than none; if even that fails, the first error says more.
            let _ = fs::rename(&old, &self.target);
            return Err(Error::io(&self.target)(error));
        }
        if old.exists() {
            fs::remove_dir_all(&old).map_err(Error::io(&old))?;
        }
        Ok(self.target.clone())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // After `finish` there is nothing left; after an error nothing shall be left.
        let _ = fs::remove_dir_all(&self.draft);
    }
}
