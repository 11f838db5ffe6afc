use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crf_core::{Iteration, Next};

use crate::error::{Error, Result};

/// The file of the trace; the first failure to write ends the training.
pub(super) struct TraceFile {
    path: PathBuf,
    file: BufWriter<File>,
    failed: Option<std::io::Error>,
}

impl TraceFile {
    pub(super) fn new(path: &Path) -> Result<Self> {
        let file = BufWriter::new(File::create(path).map_err(Error::io(path))?);
        Ok(TraceFile { path: path.to_owned(), file, failed: None })
    }

    pub(super) fn add(&mut self, iteration: &Iteration) -> Next {
        let line = serde_json::to_string(iteration).map_err(std::io::Error::from);
        let written = line.and_then(|line| writeln!(self.file, "{line}")).and_then(|()| self.file.flush());
        self.failed = written.err();
        if self.failed.is_some() { Next::Stop } else { Next::Continue }
    }

    pub(super) fn finish(self) -> Result<()> {
        self.failed.map_or(Ok(()), |error| Err(Error::io(&self.path)(error)))
    }
}
