//! The journal of a run: finished cells on disk, from which a run resumes however it ended.
//!
//! A journal begins with a magic number and the digest of the program that writes it. Each record
//! is its length, the beginning of its SHA-256, and the digest and result of one cell. Reading ends
//! at the first record that is incomplete or damaged; all before it counts.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};
use crate::experiment::cell::Cell;
use crate::experiment::cell_digest::{Digest, hex};
use crate::support::atomic_file::{AtomicFile, require_regular};

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
    /// The cells that the same program wrote.
    pub(crate) cells: Cells,
    /// The journal of another build of the program, which was put aside, so that its cells are not
    /// reused.
    pub(crate) aside: Option<PathBuf>,
}

impl Journal {
    /// Opens a journal to append to it, or begins a new one; `code` is the digest of the program.
    ///
    /// The journal of another build is put aside under the name of that build, and comes back when
    /// that build opens the journal again. A file that is no journal is an error.
    pub(crate) fn open(path: &Path, code: &Digest) -> Result<(Self, Before)> {
        require_regular(path)?;
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
            return Err(foreign(path));
        }
        let (end, mut before) = match JournalContents::parse(&bytes) {
            Some(contents) if contents.code == *code => {
                (contents.end, Before { cells: contents.cells, aside: None })
            }
            Some(contents) if !contents.cells.is_empty() => {
                (0, Before { cells: Cells::new(), aside: Some(put_aside(path, contents)?) })
            }
            _ => (0, Before::default()),
        };
        let mut journal = Journal { path: path.to_owned(), file, synced: Instant::now() };
        journal.cut(end)?;
        if end == 0 {
            journal.write(&[&MAGIC[..], code].concat())?;
        }
        journal.take_back(&aside_path(path, code), &mut before.cells)?;
        Ok((journal, before))
    }

    /// Appends the cells that were put aside for this build, and removes their file.
    fn take_back(&mut self, aside: &Path, cells: &mut Cells) -> Result<()> {
        let Some(kept) = load_aside(aside)? else { return Ok(()) };
        for (digest, cell) in kept.cells {
            if let Entry::Vacant(free) = cells.entry(digest) {
                self.append(&digest, &cell)?;
                free.insert(cell);
            }
        }
        self.sync()?;
        std::fs::remove_file(aside).map_err(Error::io(aside))
    }

    /// Removes the journals of other builds whose cells are all in this one.
    pub(crate) fn forget_others(&self) -> Result<()> {
        let ours = JournalContents::load(&self.path)?.cells;
        let directory = self.path.parent().unwrap_or(Path::new(""));
        for entry in std::fs::read_dir(directory).map_err(Error::io(directory))?.flatten() {
            let other = entry.path();
            if other.with_extension("") != self.path.with_extension("") {
                continue;
            }
            // A file that only looks like one of ours is somebody else's.
            let Ok(Some(kept)) = load_aside(&other) else { continue };
            if other == aside_path(&self.path, &kept.code)
                && kept.cells.keys().all(|digest| ours.contains_key(digest))
            {
                std::fs::remove_file(&other).map_err(Error::io(&other))?;
            }
        }
        Ok(())
    }

    /// Removes all records.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.cut(HEAD)
    }

    /// Appends a finished cell.
    pub(crate) fn append(&mut self, digest: &Digest, cell: &Cell) -> Result<()> {
        // One write: a kill in between leaves at most an incomplete last record.
        self.write(&record_bytes(digest, cell)?)?;
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

fn foreign(path: &Path) -> Error {
    let message = "not the journal of a run; give another directory with --out";
    Error::config(path.display(), message)
}

/// The file for the journal of another build: `journal.0a1b2c3d4e5f`, by the build's digest.
fn aside_path(journal: &Path, code: &Digest) -> PathBuf {
    journal.with_extension(hex(&code[..6]))
}

/// The journal that was put aside under this name, if there is one.
fn load_aside(aside: &Path) -> Result<Option<JournalContents>> {
    if !aside.is_file() {
        return Ok(None);
    }
    let bytes = std::fs::read(aside).map_err(Error::io(aside))?;
    JournalContents::parse(&bytes).map(Some).ok_or_else(|| foreign(aside))
}

/// Writes the journal of another build beside the one at `path`, with what is there of that build;
/// returns its name.
fn put_aside(path: &Path, contents: JournalContents) -> Result<PathBuf> {
    let aside = aside_path(path, &contents.code);
    let mut cells = load_aside(&aside)?.map(|kept| kept.cells).unwrap_or_default();
    cells.extend(contents.cells);
    let mut cells: Vec<_> = cells.into_iter().collect();
    cells.sort_by_key(|(digest, _)| *digest);
    let mut bytes = [&MAGIC[..], &contents.code].concat();
    for (digest, cell) in &cells {
        bytes.extend(record_bytes(digest, cell)?);
    }
    AtomicFile::regular(&aside)?.write(|file| file.write_all(&bytes).map_err(Error::io(&aside)))?;
    Ok(aside)
}

/// The record of a finished cell.
fn record_bytes(digest: &Digest, cell: &Cell) -> Result<Vec<u8>> {
    let payload = postcard::to_stdvec(&(digest, cell)).map_err(Error::format("a finished cell"))?;
    let length = u32::try_from(payload.len()).map_err(Error::format("a finished cell"))?;
    Ok([&length.to_le_bytes()[..], &Sha256::digest(&payload)[..CHECK], &payload].concat())
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
        require_regular(path)?;
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
        let (journal, before) = Journal::open(&path, &[8; 32]).expect("a journal");
        assert!(before.cells.is_empty());
        let aside = before.aside.expect("a journal of another build");
        assert_eq!(JournalContents::load(&aside).expect("the old journal").cells.len(), 1);
        journal.forget_others().expect("nothing to forget");
        assert!(aside.exists(), "its cell is nowhere else");
        drop(journal);
        std::fs::remove_file(&aside).expect("a file");
        std::fs::remove_file(&path).expect("a file");
    }

    #[test]
    fn builds_in_turn_lose_no_finished_cell() {
        let path = journal_path("turns");
        let builds = [[7; 32], [8; 32], [9; 32]];
        let mut finished = [Vec::new(), Vec::new(), Vec::new()];
        for (trial, build) in (1..).zip([0, 1, 0, 2, 1, 1, 0, 2, 0]) {
            let (mut journal, before) = Journal::open(&path, &builds[build]).expect("a journal");
            assert_eq!(trials(&before), finished[build], "build {build} before trial {trial}");
            journal.append(&[trial as u8; 32], &cell(trial)).expect("a record");
            finished[build].push(trial);
        }
        // A build that has all cells of another makes its journal needless.
        let (mut journal, _) = Journal::open(&path, &builds[0]).expect("a journal");
        let asides = [1, 2].map(|build: usize| aside_path(&path, &builds[build]));
        for &trial in &finished[1] {
            journal.append(&[trial as u8; 32], &cell(trial)).expect("a record");
        }
        journal.forget_others().expect("the journals are read");
        assert_eq!(asides.each_ref().map(|aside| aside.exists()), [false, true]);
        asides.iter().chain([&path]).for_each(|file| drop(std::fs::remove_file(file)));
    }

    #[test]
    fn a_file_that_only_looks_like_an_older_journal_is_left_alone() {
        let path = journal_path("looks");
        let (mut journal, _) = Journal::open(&path, &[7; 32]).expect("a journal");
        journal.append(&[1; 32], &cell(1)).expect("a record");
        let aside = aside_path(&path, &[7; 32]);
        std::fs::write(&aside, "mine").expect("a file");
        journal.forget_others().expect("it is none of ours");
        drop(journal);
        let error = Journal::open(&path, &[8; 32]).expect_err("somebody else's file").to_string();
        assert!(error.contains("not the journal of a run"), "{error}");
        assert_eq!(std::fs::read(&aside).expect("a file"), b"mine");
        assert_eq!(JournalContents::load(&path).expect("a journal").cells.len(), 1);
        [aside, path].iter().for_each(|file| std::fs::remove_file(file).expect("a file"));
    }
}
