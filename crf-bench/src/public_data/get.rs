use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{DataFile, DataSet, State, content};
use crate::error::{Error, Result};
use crate::support::atomic_file::AtomicFile;

/// Fetches the files of a set that are not there, and puts them into place when they are what they should be.
///
/// The transport is left to curl, which knows proxies and certificates, shows its own bar, and needs nothing of us.
pub(crate) fn get(set: &DataSet, directory: &Path) -> Result<usize> {
    let mut fetched = 0;
    for file in &set.files {
        if file.state(directory)? == State::Right {
            continue;
        }
        let Some(from) = &file.from else {
            let message = format!(
                "its files are made by hand from {}: put `{}` below {}, and `data check {}` verifies it",
                set.origin,
                file.path,
                directory.display(),
                set.name
            );
            return Err(Error::config(format!("data get {}", set.name), message));
        };
        fetch(file, from, directory)?;
        fetched += 1;
    }
    Ok(fetched)
}

fn fetch(file: &DataFile, from: &str, directory: &Path) -> Result<()> {
    let path = directory.join(&file.path);
    let parent = path.parent().unwrap_or(directory);
    fs::create_dir_all(parent).map_err(Error::io(parent))?;
    let draft = AtomicFile::new(&path)?;
    let raw = path.with_file_name(format!(".{}.download", std::process::id()));
    let content = download(from, &raw).and_then(|()| content(&raw).map_err(Error::io(&raw)));
    // It is there if something was fetched, and must not stay in any case.
    let _ = fs::remove_file(&raw);
    let wrong = |message: String| Error::config(from, message);
    let content = file.convert.apply(content?).map_err(wrong)?;
    if !file.is_right(&content) {
        let message = format!("what came is not `{}`: its SHA-256 is not {}", file.path, file.sha256);
        return Err(Error::config(from, message));
    }
    draft.write(|out| {
        let written = if file.path.ends_with(".gz") {
            let mut gzip = GzEncoder::new(out, Compression::best());
            gzip.write_all(&content).and_then(|()| gzip.finish().map(drop))
        } else {
            out.write_all(&content)
        };
        written.map_err(Error::io(&path))
    })
}

fn download(from: &str, to: &Path) -> Result<()> {
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--location", "--progress-bar", "--proto", "=http,https", "--output"])
        .arg(to)
        .arg(from);
    let status = curl.stdin(Stdio::null()).status();
    let status =
        status.map_err(|error| Error::config("data get", format!("cannot start `curl`: {error}")))?;
    if status.success() { Ok(()) } else { Err(Error::Command(format!("curl {from}"))) }
}
