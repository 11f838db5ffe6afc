//! The journal of a run: finished cells on disk, from which a run resumes however it ended.
//!
//! A journal begins with a magic number and the digest of the program that writes it. Each record
//! is its length, the beginning of its SHA-256, and the digest and result of one cell. Reading ends
//! at the first record that is incomplete or damaged; all before it counts.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::experiment::cell::Cell;
use crate::experiment::cell_digest::Digest;
use crate::support::atomic_file::AtomicFile;

const MAGIC: [u8; 8] = *b"CRFRUN\0\x01";
const HEAD: usize = MAGIC.len() + size_of::<Digest>();
/// The head of a record: its length, and the first bytes of its digest.
const LENGTH: usize = size_of::<u32>();
const CHECK: usize = 8;
/// The longest time of work that a failure of the machine, unlike one of the program, may cost.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The cells of a journal by their digests.
pub(crate) type Cells = HashMap<Digest, Cell>;

/// A journal that is open for writing; it is locked against other processes.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    synced: Instant,
}

/// The contents of a journal when it was opened.
#[derive(Debug, Default)]
pub(crate) struct Before {
    /// The cells, if the same program wrote them.
    pub(crate) cells: Cells,
    /// True if another build of the program wrote it, so that its cells are not reused.
    pub(crate) other_code: bool,
}

impl Journal {
    /// Opens a journal to append to it, or begins a new one; `code` is the digest of the program.
    ///
    /// The journal of another build is kept beside it as `journal.old`. A file that is no journal
    /// is an error.
    pub(crate) fn open(path: &Path, code: &Digest) -> Result<(Self, Before)> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.map_err(Error::io(path))?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Error::config(
                path.display(),
                "another process is writing this run; wait for it, or give another directory with --out",
            ),
            TryLockError::Error(error) => Error::io(path)(error),
        })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(Error::io(path))?;
        if !is_journal(&bytes) {
            let message = "not the journal of a run; give another directory with --out";
            return Err(Error::config(path.display(), message));
        }
        let (end, before) = match JournalContents::parse(&bytes) {
            Some(contents) if contents.code == *code => {
                (contents.end, Before { cells: contents.cells, other_code: false })
            }
            other => (0, Before { other_code: other.is_some(), ..Before::default() }),
        };
        if before.other_code {
            let old = path.with_extension("old");
            AtomicFile::new(&old)?.write(|file| file.write_all(&bytes).map_err(Error::io(&old)))?;
        }
        let mut journal = Journal { path: path.to_owned(), file, synced: Instant::now() };
        journal.cut(end)?;
        if end == 0 {
            journal.write(&[&MAGIC[..], code].concat())?;
        }
        Ok((journal, before))
    }

    /// Removes all records.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.cut(HEAD)
    }

    /// Appends a finished cell.
    pub(crate) fn append(&mut self, digest: &Digest, cell: &Cell) -> Result<()> {
        let payload = postcard::to_stdvec(&(digest, cell)).map_err(Error::format("a finished cell"))?;
        let length = u32::try_from(payload.len()).map_err(Error::format("a finished cell"))?;
        // One write: a kill in between leaves at most an incomplete last record.
        self.write(&[&length.to_le_bytes()[..], &Sha256::digest(&payload)[..CHECK], &payload].concat())?;
        if self.synced.elapsed() < SYNC_EVERY {
            return Ok(());
        }
        self.sync()
    }

    /// Waits until everything is on the disk.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.synced = Instant::now();
        self.file.sync_data().map_err(Error::io(&self.path))
    }

    fn cut(&mut self, end: usize) -> Result<()> {
        let seek = |file: &mut File| file.seek(SeekFrom::Start(end as u64));
        let cut = self.file.set_len(end as u64).and_then(|()| seek(&mut self.file));
        cut.map(drop).map_err(Error::io(&self.path))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(Error::io(&self.path))
    }
}

/// True for the beginning of a journal, however short, and for an empty file.
pub(crate) fn is_journal(bytes: &[u8]) -> bool {
    let n = bytes.len().min(MAGIC.len());
    bytes[..n] == MAGIC[..n]
}

/// The contents of a journal.
#[derive(Debug)]
pub(crate) struct JournalContents {
    /// The digest of the program that wrote it.
    pub(crate) code: Digest,
    /// The cells.
    pub(crate) cells: Cells,
    /// The end of the last complete record.
    end: usize,
}

impl JournalContents {
    /// Reads a journal without opening it for writing.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(Error::io(path))?;
        JournalContents::parse(&bytes)
            .ok_or_else(|| Error::config(path.display(), "expected the journal of a run"))
    }

    /// All complete records up to the first that is not; `None` if the head is not that of a
    /// journal.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let code = bytes.strip_prefix(&MAGIC)?.first_chunk()?;
        let mut contents = JournalContents { code: *code, cells: Cells::new(), end: HEAD };
        while let Some((length, digest, cell)) = record(&bytes[contents.end..]) {
            contents.cells.insert(digest, cell);
            contents.end += length;
        }
        Some(contents)
    }
}

/// The record at the beginning of `bytes` and its length, if it is complete.
fn record(bytes: &[u8]) -> Option<(usize, Digest, Cell)> {
    let length = u32::from_le_bytes(*bytes.first_chunk::<LENGTH>()?) as usize;
    let (check, rest) = bytes[LENGTH..].split_at_checked(CHECK)?;
    let payload = rest.get(..length)?;
    if Sha256::digest(payload)[..CHECK] != *check {
        return None;
    }
    let (digest, cell) = postcard::from_bytes(payload).ok()?;
    Some((LENGTH + CHECK + length, digest, cell))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::cell::Seconds;
    use crf_core::Stop;

    fn cell(trial: u32) -> Cell {
        Cell {
            method: 1,
            point: 2,
            trial,
            seed: "seed".to_owned(),
            metrics: vec![0.1, f64::NEG_INFINITY],
            features: 4,
            stop: Stop::Converged,
            iterations: 7,
            seconds: Seconds::default(),
            path: Vec::new(),
        }
    }

    fn journal_path(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("crf-journal-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    fn trials(before: &Before) -> Vec<u32> {
        let mut trials: Vec<u32> = before.cells.values().map(|cell| cell.trial).collect();
        trials.sort_unstable();
        trials
    }

    #[test]
    fn a_journal_cut_at_any_byte_keeps_what_is_whole_and_goes_on() {
        let path = journal_path("cut");
        let (mut journal, _) = Journal::open(&path, &[7; 32]).expect("a journal");
        let mut ends = vec![HEAD];
        for trial in 1..=3 {
            journal.append(&[trial as u8; 32], &cell(trial)).expect("a record");
            ends.push(std::fs::metadata(&path).expect("a file").len() as usize);
        }
        drop(journal);
        let whole = std::fs::read(&path).expect("a file");
        for length in 0..=whole.len() {
            std::fs::write(&path, &whole[..length]).expect("a file");
            let kept = ends.iter().filter(|&&end| end <= length).count().saturating_sub(1) as u32;
            let (mut journal, before) = Journal::open(&path, &[7; 32]).expect("a journal");
            assert_eq!(trials(&before), (1..=kept).collect::<Vec<_>>(), "{length} bytes");
            journal.append(&[9; 32], &cell(9)).expect("a record");
            drop(journal);
            let cells = JournalContents::load(&path).expect("a journal").cells;
            assert_eq!(cells.len() as u32, kept + 1, "{length} bytes");
            assert_eq!(cells[&[9; 32]].metrics, [0.1, f64::NEG_INFINITY]);
        }
        std::fs::remove_file(&path).expect("a file");
    }

    #[test]
    fn a_changed_byte_ends_the_reading() {
        let path = journal_path("flip");
        let (mut journal, _) = Journal::open(&path, &[7; 32]).expect("a journal");
        (1..=2).for_each(|trial| journal.append(&[trial as u8; 32], &cell(trial)).expect("a record"));
        drop(journal);
        let whole = std::fs::read(&path).expect("a file");
        for offset in HEAD..whole.len() {
            let mut bytes = whole.clone();
            bytes[offset] ^= 1;
            let cells = JournalContents::parse(&bytes).expect("a head").cells;
            assert!(cells.len() < 2 && cells.values().all(|cell| cell.trial == 1), "byte {offset}");
        }
        std::fs::remove_file(&path).expect("a file");
    }

    #[test]
    fn cells_of_another_program_are_not_taken() {
        let path = journal_path("code");
        let (mut journal, _) = Journal::open(&path, &[7; 32]).expect("a journal");
        journal.append(&[1; 32], &cell(1)).expect("a record");
        let busy = Journal::open(&path, &[7; 32]).expect_err("a lock").to_string();
        assert!(busy.ends_with(
            "another process is writing this run; wait for it, or give another directory with --out"
        ));
        drop(journal);
        let (_, before) = Journal::open(&path, &[8; 32]).expect("a journal");
        assert!(before.other_code && before.cells.is_empty());
        let old = path.with_extension("old");
        assert_eq!(JournalContents::load(&old).expect("the old journal").cells.len(), 1);
        std::fs::remove_file(&old).expect("a file");
        std::fs::remove_file(&path).expect("a file");
    }
}
