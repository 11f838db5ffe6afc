//! The directory of a run.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::Read as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::config::Plan;
use crate::error::{Error, Result};
use crate::experiment::cell::Cell;
use crate::experiment::cell_digest::{self, Digest};
use crate::experiment::journal::{Cells, Journal, JournalContents, is_journal};
use crate::experiment::runner::{Results, complete, open_jobs};
use crate::experiment::shard::Shard;
use crate::report;
use crate::support::atomic_file::{AtomicFile, require_distinct, require_regular};

/// The directory of a run: its journal with the finished cells, and finally its report.
///
/// It is locked against other processes while it is open.
#[derive(Debug)]
pub(crate) struct RunDirectory {
    /// The path.
    pub(crate) path: PathBuf,
    /// The file with the cells of another build of the program, if there were some.
    pub(crate) aside: Option<PathBuf>,
    journal: Journal,
    digests: Vec<Digest>,
    cells: Vec<Option<Cell>>,
}

/// The name of the journal.
pub(crate) const JOURNAL: &str = "journal";

impl RunDirectory {
    /// Opens the directory of a plan, which must be new, empty, or that of an older run. Cells of
    /// the plan that the program with the digest `code` has finished are taken from its journal.
    pub(crate) fn open(path: &Path, plan: &Plan, code: &Digest) -> Result<Self> {
        require_run(path)?;
        let digests = cell_digest::cell_digests(plan)?;
        fs::create_dir_all(path).map_err(|error| refused(path, error))?;
        let (journal, before) = Journal::open(&path.join(JOURNAL), code)?;
        let cells = digests.iter().map(|digest| before.cells.get(digest).cloned()).collect();
        Ok(RunDirectory { path: path.to_owned(), aside: before.aside, journal, cells, digests })
    }

    /// The finished cells of a plan in a directory, without changing it.
    pub(crate) fn peek(path: &Path, plan: &Plan, code: &Digest) -> Result<Finished> {
        require_run(path)?;
        let cells = JournalContents::load(&path.join(JOURNAL)).ok().filter(|contents| contents.code == *code);
        let cells = cells.map(|contents| contents.cells).unwrap_or_default();
        let digests = cell_digest::cell_digests(plan)?;
        let is_there = digests.iter().map(|digest| cells.contains_key(digest)).collect();
        Ok(Finished { digests, is_there })
    }

    /// Number of cells.
    pub(crate) fn n_cells(&self) -> usize {
        self.cells.len()
    }

    /// Number of finished cells.
    pub(crate) fn n_finished(&self) -> usize {
        self.cells.iter().flatten().count()
    }

    /// Discards all finished cells.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.cells.fill(None);
        self.journal.clear()
    }

    /// The jobs of a shard with unfinished cells.
    pub(crate) fn open_jobs(&self, plan: &Plan, shard: Shard) -> Vec<usize> {
        open_jobs(plan, &self.cells, shard)
    }

    /// Runs jobs and stores each cell as soon as it is finished; calls `done` after each job.
    pub(crate) fn run(
        &mut self,
        plan: &Plan,
        jobs: &[usize],
        threads: NonZeroUsize,
        done: &(dyn Fn() + Sync),
    ) -> Result<()> {
        let RunDirectory { journal, digests, cells, .. } = self;
        let shared = Mutex::new(&mut *journal);
        let keep = |number: usize, cell: &Cell| {
            let mut journal = shared.lock().unwrap_or_else(PoisonError::into_inner);
            journal.append(&digests[number], cell)
        };
        let outcome = complete(plan, cells, jobs, threads, &keep, done);
        journal.sync()?;
        outcome
    }

    /// Copies cells of another journal into this one.
    pub(crate) fn adopt(&mut self, from: &Cells) -> Result<()> {
        for (digest, _) in self.digests.iter().zip(&self.cells).filter(|(_, cell)| cell.is_none()) {
            from.get(digest).map_or(Ok(()), |cell| self.journal.append(digest, cell))?;
        }
        self.journal.sync()?;
        self.take(from);
        Ok(())
    }

    /// Removes the journals of other builds whose cells are all finished here.
    pub(crate) fn forget_others(&self) -> Result<()> {
        self.journal.forget_others()
    }

    /// The results of all cells, which must be finished.
    pub(crate) fn results(&self, plan: &Plan) -> Results {
        Results::new(plan, self.cells.iter().flatten().cloned().collect())
    }

    /// Writes a file, or replaces an older one; the journal can make it again.
    pub(crate) fn write(&self, name: &str, contents: &[u8]) -> Result<()> {
        let path = self.path.join(name);
        AtomicFile::regular(&path)?.write_soon(|file| file.write_all(contents).map_err(Error::io(&path)))
    }

    /// Removes a file if it exists.
    pub(crate) fn remove(&self, name: &str) -> Result<()> {
        let path = self.path.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io(&path)(error)),
            _ => Ok(()),
        }
    }

    fn take(&mut self, from: &Cells) {
        for (digest, cell) in self.digests.iter().zip(&mut self.cells) {
            *cell = cell.take().or_else(|| from.get(digest).cloned());
        }
    }
}

/// The cells of a plan that are finished.
#[derive(Debug)]
pub(crate) struct Finished {
    digests: Vec<Digest>,
    is_there: Vec<bool>, // [cells]
}

impl Finished {
    /// Counts the cells of another journal as finished, too.
    pub(crate) fn with(mut self, cells: &Cells) -> Self {
        for (digest, is_there) in self.digests.iter().zip(&mut self.is_there) {
            *is_there |= cells.contains_key(digest);
        }
        self
    }

    /// Number of cells of the plan.
    pub(crate) fn n_cells(&self) -> usize {
        self.is_there.len()
    }

    /// Number of finished cells.
    pub(crate) fn n_finished(&self) -> usize {
        self.is_there.iter().filter(|is_there| **is_there).count()
    }

    /// Index of the first cell that is not finished.
    pub(crate) fn first_missing(&self) -> Option<usize> {
        self.is_there.iter().position(|is_there| !is_there)
    }
}

/// Fails if the files of a run in a directory would be written over files that the run reads.
///
/// These are the `inputs` and the files that the source of the data names.
pub(crate) fn require_apart(path: &Path, plan: &Plan, inputs: &[(&str, &Path)]) -> Result<()> {
    let outputs: Vec<PathBuf> = report::FILES.iter().chain([&JOURNAL]).map(|name| path.join(name)).collect();
    let outputs: Vec<(&str, &Path)> = outputs.iter().map(|output| ("--out", &**output)).collect();
    let data = cell_digest::data_files(plan)?;
    let data = data.iter().map(|file| ("a file of the data", &**file));
    require_distinct(&outputs, &inputs.iter().copied().chain(data).collect::<Vec<_>>())
}

fn refused(path: &Path, why: impl Display) -> Error {
    Error::config(format!("--out {}", path.display()), why)
}

/// Fails unless a directory is new, empty, or has a journal.
fn require_run(path: &Path) -> Result<()> {
    if path.as_os_str().is_empty() {
        return Err(refused(path, "expected a directory, got an empty name"));
    }
    if !path.exists() {
        return Ok(());
    }
    let is_empty = fs::read_dir(path).map_err(|error| refused(path, error))?.next().is_none();
    if is_empty {
        return Ok(());
    }
    let mut head = Vec::new();
    require_regular(&path.join(JOURNAL))?;
    let journal = File::open(path.join(JOURNAL)).and_then(|file| file.take(64).read_to_end(&mut head));
    match journal {
        Ok(_) if is_journal(&head) => Ok(()),
        _ => Err(refused(path, "the directory holds something else than a run's results")),
    }
}
