use std::fs::File;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crf_core::Iteration;

use crate::error::{Error, Result};
use crate::support::atomic_file::AtomicFile;

/// The trace of a training as a file of JSON lines; the first failure to write ends the training.
pub(crate) struct TraceFile {
    path: PathBuf,
    target: AtomicFile,
    file: File,
    failed: Option<std::io::Error>,
}

impl TraceFile {
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let mut target = AtomicFile::new(path)?;
        Ok(TraceFile { path: path.to_owned(), file: target.open()?, target, failed: None })
    }

    pub(crate) fn add(&mut self, iteration: &Iteration) -> ControlFlow<()> {
        let line = serde_json::to_string(iteration).map_err(std::io::Error::from);
        self.failed = line.and_then(|line| self.file.write_all(format!("{line}\n").as_bytes())).err();
        if self.failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    pub(crate) fn finish(self) -> Result<()> {
        match self.failed {
            Some(error) => Err(Error::io(&self.path)(error)),
            None => self.target.commit_synced(&self.file),
        }
    }
}
