//! Output files that appear complete or not at all.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// An output file that is written beside its target and renamed when it is complete.
///
/// Links are followed: their target is replaced. Devices and pipes are written directly. The draft
/// is locked while it is written: one without a lock is what a killed process left, and the next
/// output of the same name removes it.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    target: PathBuf,
    draft: Option<PathBuf>, // none if the target is written directly
}

impl AtomicFile {
    /// Prepares to write a file that the user names, and fails now if that is not possible.
    pub(crate) fn new(target: &Path) -> Result<Self> {
        let known = fs::metadata(target);
        if target.file_name().is_none() || known.as_ref().is_ok_and(fs::Metadata::is_dir) {
            return Err(refused(target, "a directory, not the name of a file"));
        }
        if known.is_ok_and(|known| !known.is_file() || is_of_the_system(target)) {
            return Ok(AtomicFile { target: target.to_owned(), draft: None });
        }
        let failed = |error: io::Error| refused(target, error);
        let whole = followed(target).map_err(failed)?;
        sweep(&whole);
        let (draft, _) = create(&whole).map_err(failed)?;
        // Only a try: the work before the writing may be long, and may be killed.
        fs::remove_file(&draft).map_err(failed)?;
        Ok(AtomicFile { target: whole, draft: Some(draft) })
    }

    /// [`AtomicFile::new`] for a file whose name is ours: a pipe or a device of this name, which
    /// nobody asked to be written, is refused.
    pub(crate) fn regular(target: &Path) -> Result<Self> {
        require_regular(target)?;
        AtomicFile::new(target)
    }

    /// Opens the file for writing; [`AtomicFile::commit_synced`] completes it.
    pub(crate) fn open(&mut self) -> Result<File> {
        let file = match &mut self.draft {
            Some(draft) => create(&self.target).map(|(path, file)| {
                *draft = path;
                file
            }),
            // What a shell has opened to append, `/dev/stdout` must not overwrite.
            None => {
                let is_file = fs::metadata(&self.target).is_ok_and(|known| known.is_file());
                OpenOptions::new().write(true).append(is_file).open(&self.target)
            }
        };
        file.map_err(Error::io(&self.target))
    }

    /// Writes the file, waits until it is on the disk, and replaces the target.
    pub(crate) fn write(mut self, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        let file = self.fill(fill)?;
        self.commit_synced(&file)
    }

    /// [`AtomicFile::write`] without waiting, for files that can be made again.
    pub(crate) fn write_soon(mut self, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        // The lock of the draft ends with the file.
        let _file = self.fill(fill)?;
        self.commit()
    }

    /// Replaces the target by the complete file, and waits until it and its new name are on the
    /// disk.
    pub(crate) fn commit_synced(self, file: &File) -> Result<()> {
        if self.draft.is_none() {
            return Ok(());
        }
        file.sync_all().map_err(Error::io(&self.target))?;
        self.commit()?;
        // Not every file system can do this, and the file itself is safe.
        let _ = File::open(directory_of(&self.target)).and_then(|directory| directory.sync_all());
        Ok(())
    }

    fn fill(&mut self, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<File> {
        let mut file = BufWriter::new(self.open()?);
        fill(&mut file)?;
        file.into_inner().map_err(|error| Error::io(&self.target)(error.into_error()))
    }

    fn commit(&self) -> Result<()> {
        let Some(draft) = &self.draft else { return Ok(()) };
        if let Ok(old) = fs::metadata(&self.target) {
            fs::set_permissions(draft, old.permissions()).map_err(Error::io(&self.target))?;
        }
        fs::rename(draft, &self.target).map_err(Error::io(&self.target))
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        // After `write` there is nothing to remove; after an error nothing must be left.
        let _ = self.draft.as_ref().map(fs::remove_file);
    }
}

/// Fails at a name of a pipe, a device or a directory, which could not be read or written like a
/// file.
pub(crate) fn require_regular(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(known) if !known.is_file() => {
            Err(Error::io(path)(io::Error::other("expected a file, got a pipe, a device or a directory")))
        }
        _ => Ok(()),
    }
}

fn refused(target: &Path, why: impl std::fmt::Display) -> Error {
    Error::io(target)(io::Error::other(format!("cannot be written: {why}")))
}

/// Creates the draft of a target under a free name, and locks it.
fn create(target: &Path) -> io::Result<(PathBuf, File)> {
    for number in std::process::id().. {
        let draft = draft_of(target, number);
        let file = match OpenOptions::new().write(true).create_new(true).open(&draft) {
            // A draft of this name belongs to another process, for instance of another machine.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            other => other?,
        };
        // A sweep in between has the lock, or has removed the name. Without locks nobody sweeps.
        let is_lost = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        let is_gone = fs::symlink_metadata(&draft).is_err();
        if !is_lost && !is_gone && is_same(file.metadata(), fs::symlink_metadata(&draft)) != Some(false) {
            return Ok((draft, file));
        }
    }
    Err(io::Error::other("no free name beside it"))
}

/// Removes the drafts of a target that killed processes left behind.
fn sweep(target: &Path) {
    let entries = fs::read_dir(directory_of(target)).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name.rsplit_once('.').and_then(|(_, number)| number.parse::<u32>().ok());
        let is_draft =
            number.is_some_and(|number| draft_of(target, number).file_name() == Some(&entry.file_name()));
        if !is_draft || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        // What cannot be removed stays; it is in nobody's way.
        let lock = OpenOptions::new().write(true).open(entry.path()).map(|file| (file.try_lock(), file));
        if let Ok((Ok(()), file)) = lock
            && is_same(file.metadata(), fs::symlink_metadata(entry.path())) != Some(false)
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn draft_of(target: &Path, number: u32) -> PathBuf {
    // The name of a file may have 255 bytes.
    let mut name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    while name.len() > 200 {
        name.pop();
    }
    target.with_file_name(format!(".{name}.{number}"))
}

fn directory_of(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Fails if an output would overwrite an input or another output.
///
/// Links, hard links and other spellings of a path are the same file; `-` as an input is what
/// standard input was redirected to.
pub(crate) fn require_distinct(outputs: &[(&str, &Path)], inputs: &[(&str, &Path)]) -> Result<()> {
    for (i, (option, output)) in outputs.iter().enumerate() {
        // Devices and pipes have no content to lose.
        if fs::metadata(output).is_ok_and(|known| !known.is_file()) {
            continue;
        }
        let others = inputs.iter().chain(&outputs[..i]);
        if let Some((other, path)) = others.into_iter().find(|(_, path)| is_same_file(output, path)) {
            let message = format!("would be written over {}, which is {other}", path.display());
            return Err(Error::config(format!("{option} {}", output.display()), message));
        }
    }
    Ok(())
}

/// Fails if standard output was redirected to one of the inputs, which would then grow while it is
/// read.
pub(crate) fn require_other_output(inputs: &[(&str, &Path)]) -> Result<()> {
    require_distinct(&[("standard output", Path::new("/dev/stdout"))], inputs)
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    let b = if b == Path::new("-") { Path::new("/dev/stdin") } else { b };
    is_same(fs::metadata(a), fs::metadata(b)) == Some(true)
        || matches!((followed(a), followed(b)), (Ok(a), Ok(b)) if a == b)
}

/// True if two files are one, if the system can tell.
fn is_same(a: io::Result<fs::Metadata>, b: io::Result<fs::Metadata>) -> Option<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let (a, b) = (a.ok()?, b.ok()?);
        Some((a.dev(), a.ino()) == (b.dev(), b.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = (a, b);
        None
    }
}

/// True for names such as `/dev/stdout`, which a shell may have redirected to a file.
fn is_of_the_system(path: &Path) -> bool {
    let directory = fs::canonicalize(directory_of(path));
    directory.is_ok_and(|directory| directory == Path::new("/dev") || directory.starts_with("/proc"))
}

/// The file that a path leads to through all links, whether it exists or not.
fn followed(path: &Path) -> io::Result<PathBuf> {
    const MAX_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if let Ok(whole) = fs::canonicalize(&path) {
            return Ok(whole);
        }
        let parent = fs::canonicalize(directory_of(&path))?;
        match fs::read_link(&path) {
            Ok(next) => path = parent.join(next),
            Err(_) => return Ok(parent.join(path.file_name().unwrap_or_default())),
        }
    }
    Err(io::Error::other("too many links"))
}
