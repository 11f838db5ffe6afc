//! Downloads of public data sets.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{DataFile, DataSet, State, content, digest_of};
use crate::error::{Error, Result};
use crate::support::atomic_file::AtomicFile;

/// Downloads the missing and wrong files of a set, and keeps those with the right digest; returns
/// their number.
///
/// curl does the transport: it knows proxies and certificates and shows its own progress.
pub(crate) fn get(set: &DataSet, directory: &Path) -> Result<usize> {
    let mut fetched = 0;
    for file in &set.files {
        if file.state(directory)? == State::Right {
            continue;
        }
        let Some(from) = &file.from else {
            let message = format!(
                "its files are made by hand from {}: put `{}` below {}, then verify it by `data check {}`",
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
    let target = AtomicFile::new(&path)?;
    let raw = path.with_file_name(format!(".{}.download", std::process::id()));
    let content = download(from, &raw).and_then(|()| unpack(file, from, &raw));
    // The download must not stay, whether it succeeded or not.
    let _ = fs::remove_file(&raw);
    let refused = |message: String| Error::config(from, message);
    let content = file.convert.apply(content?).map_err(refused)?;
    if !file.is_right(&content) {
        let message = format!("the download is not `{}`: its SHA-256 is not {}", file.path, file.sha256);
        return Err(Error::config(from, message));
    }
    target.write(|out| {
        let written = if file.path.ends_with(".gz") {
            let mut gzip = GzEncoder::new(out, Compression::best());
            gzip.write_all(&content).and_then(|()| gzip.finish().map(drop))
        } else {
            out.write_all(&content)
        };
        written.map_err(Error::io(&path))
    })
}

/// Number of bytes that a byte of a download may become: text becomes about ten, a bomb a thousand.
const MAX_EXPANSION: u64 = 100;

/// The uncompressed contents of a download, if it is the right one.
fn unpack(file: &DataFile, from: &str, raw: &Path) -> Result<Vec<u8>> {
    if let Some(want) = &file.download {
        let got = File::open(raw).and_then(|mut raw| digest_of(&mut raw)).map_err(Error::io(raw))?;
        if got != *want {
            let message =
                format!("the download is not that of `{}`: its SHA-256 is {got}, not {want}", file.path);
            return Err(Error::config(from, message));
        }
    }
    let limit = fs::metadata(raw).map_err(Error::io(raw))?.len().saturating_mul(MAX_EXPANSION);
    let content = content(raw, limit);
    content.map_err(|error| Error::config(from, format!("the download cannot be unpacked: {error}")))
}

fn download(from: &str, to: &Path) -> Result<()> {
    let mut curl = Command::new("curl");
    curl.args([
        "--fail",
        "--location",
        "--progress-bar",
        "--proto",
        "=http,https",
        "--max-filesize",
        "4G",
        "--output",
    ])
    .arg(to)
    .arg(from);
    let status = curl.stdin(Stdio::null()).status();
    let status =
        status.map_err(|error| Error::config("data get", format!("cannot start `curl`: {error}")))?;
    if status.success() { Ok(()) } else { Err(Error::Command(format!("curl {from}"))) }
}
