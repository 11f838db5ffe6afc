use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crf_core::{Iteration, Next};

use crate::error::{Error, Result};
use crate::support::atomic_file::Draft;

/// The file of the trace; the first failure to write ends the training.
pub(super) struct TraceFile {
    path: PathBuf,
    draft: Draft,
    file: File,
    failed: Option<std::io::Error>,
}

impl TraceFile {
    pub(super) fn new(path: &Path) -> Result<Self> {
        let draft = Draft::new(path)?;
        Ok(TraceFile { path: path.to_owned(), file: draft.open()?, draft, failed: None })
    }

    pub(super) fn add(&mut self, iteration: &Iteration) -> Next {
        let line = serde_json::to_string(iteration).map_err(std::io::Error::from);
        self.failed = line.and_then(|line| self.file.write_all(format!("{line}\n").as_bytes())).err();
        if self.failed.is_some() { Next::Stop } else { Next::Continue }
    }

    pub(super) fn finish(self) -> Result<()> {
        match self.failed {
            Some(error) => Err(Error::io(&self.path)(error)),
            None => self.draft.place_synced(&self.file),
        }
    }
}
