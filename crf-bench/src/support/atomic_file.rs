//! Output files that appear complete or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// An output file that is written beside its target and renamed when it is complete.
///
/// Links are followed: their target is replaced. Devices and pipes are written directly.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    target: PathBuf,
    temporary: Option<PathBuf>, // none if the target is written directly
}

impl AtomicFile {
    /// Prepares to write `target`, and fails now if that is not possible.
    pub(crate) fn new(target: &Path) -> Result<Self> {
        let refused = |why: String| Error::Io { path: target.to_owned(), source: io::Error::other(why) };
        let known = fs::metadata(target);
        if target.file_name().is_none() || known.as_ref().is_ok_and(fs::Metadata::is_dir) {
            return Err(refused("cannot be written: a directory, not the name of a file".to_owned()));
        }
        if known.is_ok_and(|known| !known.is_file()) || is_of_the_system(target) {
            return Ok(AtomicFile { target: target.to_owned(), temporary: None });
        }
        let failed = |error: io::Error| refused(format!("cannot be written: {error}"));
        let target = followed(target).map_err(failed)?;
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let beside = |number: u32| target.with_file_name(format!(".{name}.{number}"));
        // An existing file of this name belongs to another process.
        let temporary = (std::process::id()..).map(beside).find(|path| fs::symlink_metadata(path).is_err());
        let temporary =
            temporary.ok_or_else(|| refused("cannot be written: no free name beside it".to_owned()))?;
        create(&temporary).map_err(failed)?;
        fs::remove_file(&temporary).map_err(Error::io(&temporary))?;
        Ok(AtomicFile { target, temporary: Some(temporary) })
    }

    /// Opens the file for writing; [`AtomicFile::commit_synced`] completes it.
    pub(crate) fn open(&self) -> Result<File> {
        let file = match &self.temporary {
            Some(temporary) => create(temporary),
            None => OpenOptions::new().write(true).open(&self.target),
        };
        file.map_err(Error::io(&self.target))
    }

    /// Writes the file, waits until it is on the disk, and replaces the target.
    pub(crate) fn write(self, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        let file = self.fill(fill)?;
        self.commit_synced(&file)
    }

    /// [`AtomicFile::write`] without waiting, for files that can be made again.
    pub(crate) fn write_soon(self, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        self.fill(fill)?;
        self.commit()
    }

    /// Replaces the target by the complete file, and waits until it and its new name are on the
    /// disk.
    pub(crate) fn commit_synced(self, file: &File) -> Result<()> {
        if self.temporary.is_none() {
            return Ok(());
        }
        file.sync_all().map_err(Error::io(&self.target))?;
        self.commit()?;
        let directory = self.target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = File::open(directory.unwrap_or(Path::new(".")));
        // Not every file system can do this, and the file itself is safe.
        let _ = directory.and_then(|directory| directory.sync_all());
        Ok(())
    }

    fn fill(&self, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<File> {
        let mut file = BufWriter::new(self.open()?);
        fill(&mut file)?;
        file.into_inner().map_err(|error| Error::io(&self.target)(error.into_error()))
    }

    fn commit(&self) -> Result<()> {
        let Some(temporary) = &self.temporary else { return Ok(()) };
        if let Ok(old) = fs::metadata(&self.target) {
            fs::set_permissions(temporary, old.permissions()).map_err(Error::io(&self.target))?;
        }
        fs::rename(temporary, &self.target).map_err(Error::io(&self.target))
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        // After `write` there is nothing to remove; after an error nothing must be left.
        let _ = self.temporary.as_ref().map(fs::remove_file);
    }
}

/// True for the name of a temporary file of one of these files.
pub(crate) fn is_temporary_of(name: &str, files: &[&str]) -> bool {
    let target = name.strip_prefix('.').and_then(|name| name.rsplit_once('.'));
    target.is_some_and(|(target, number)| files.contains(&target) && number.parse::<u32>().is_ok())
}

/// Fails if an output would overwrite an input or another output.
///
/// Links, hard links and other spellings of a path are the same file.
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

fn is_same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        if let (Ok(a), Ok(b)) = (fs::metadata(a), fs::metadata(b)) {
            return (a.dev(), a.ino()) == (b.dev(), b.ino());
        }
    }
    matches!((followed(a), followed(b)), (Ok(a), Ok(b)) if a == b)
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// True for names such as `/dev/stdout`, which a shell may have redirected to a file.
fn is_of_the_system(path: &Path) -> bool {
    let directory = path.parent().and_then(|parent| fs::canonicalize(parent).ok());
    directory.is_some_and(|directory| ["/dev", "/proc"].iter().any(|root| directory.starts_with(root)))
}

/// The file that a path leads to through all links, whether it exists or not.
fn followed(path: &Path) -> io::Result<PathBuf> {
    const MAX_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        if let Ok(whole) = fs::canonicalize(&path) {
            return Ok(whole);
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = fs::canonicalize(parent.unwrap_or(Path::new(".")))?;
        match fs::read_link(&path) {
            Ok(next) => path = parent.join(next),
            Err(_) => return Ok(parent.join(path.file_name().unwrap_or_default())),
        }
    }
    Err(io::Error::other("too many links"))
}
