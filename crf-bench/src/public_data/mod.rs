//! Public data sets: the manifest, the state of local files, and downloads.
//!
//! `manifest.toml` lists every set with citation, terms, origin and a SHA-256 per file. `get.rs`
//! downloads a file with curl, `convert.rs` converts it to the form that its source reads, and
//! nothing is kept that does not have the right digest. Errors of sources whose files are missing
//! get the command that downloads them ([`explained`]).

mod convert;
mod get;

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use crf_core::{Source, readable_size};
use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use self::convert::Convert;
pub(crate) use self::get::get;
use crate::error::{Error, Result};
use crate::experiment::cell_digest::{hex, in_data, strings};
use crate::support::atomic_file::require_regular;

/// The list of public data sets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    #[serde(rename = "set")]
    pub(crate) sets: Vec<DataSet>,
}

/// A public data set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DataSet {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) citation: String,
    pub(crate) licence: String,
    pub(crate) origin: String,
    pub(crate) files: Vec<DataFile>,
}

/// A file of a set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DataFile {
    /// The path below the directory of all data.
    pub(crate) path: String,
    /// The SHA-256 of the uncompressed contents.
    sha256: String,
    /// The SHA-256 of the download as it comes, if it is known: nothing else is unpacked.
    download: Option<String>,
    /// The URL, if it can be downloaded.
    from: Option<String>,
    /// The conversion of the download.
    #[serde(default, rename = "as")]
    convert: Convert,
}

/// The state of a local file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It has the right contents.
    Right,
    /// It has other contents.
    Different,
    /// It does not exist.
    Missing,
}

impl Manifest {
    /// The manifest of the sets that the toolkit has sources for.
    pub(crate) fn ours() -> Self {
        Manifest::parse(include_str!("manifest.toml")).expect("the manifest is right")
    }

    /// Reads a manifest; paths that lead out of the directory of all data are refused.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let manifest: Manifest = toml::from_str(text).map_err(Error::format("manifest"))?;
        for file in manifest.sets.iter().flat_map(|set| &set.files) {
            let mut steps = Path::new(&file.path).components();
            if file.path.is_empty() || !steps.all(|step| matches!(step, Component::Normal(_))) {
                let message = format!("expected a path below the directory of all data, got `{}`", file.path);
                return Err(Error::config("manifest", message));
            }
        }
        Ok(manifest)
    }
}

impl DataFile {
    /// The state of the file below a directory.
    pub(crate) fn state(&self, directory: &Path) -> Result<State> {
        let path = directory.join(&self.path);
        if !path.exists() {
            return Ok(State::Missing);
        }
        require_regular(&path)?;
        let digest = plain(&path).and_then(|mut from| digest_of(&mut from));
        Ok(if digest.map_err(Error::io(&path))? == self.sha256 { State::Right } else { State::Different })
    }

    fn is_right(&self, content: &[u8]) -> bool {
        hex(&Sha256::digest(content)) == self.sha256
    }
}

/// The uncompressed contents of a file, which are refused where they are more than `limit` bytes.
fn content(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    plain(path)?.take(limit + 1).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        return Err(io::Error::other(format!("unpacks to more than {}", readable_size(limit as f64))));
    }
    Ok(content)
}

/// A reader of the uncompressed contents of a file.
fn plain(path: &Path) -> io::Result<Box<dyn Read>> {
    let mut file = BufReader::new(File::open(path)?);
    let is_gzip = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    Ok(if is_gzip { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

/// The SHA-256 of all that a reader gives, which need not fit into memory.
fn digest_of(from: &mut dyn Read) -> io::Result<String> {
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            n => hash.update(&buffer[..n]),
        }
    }
}

/// The error of a source; if a file of a public set is missing, the file and the command that
/// downloads it.
pub(crate) fn explained(error: crf_core::Error, source: &dyn Source) -> crf_core::Error {
    let Ok(config) = serde_json::to_value(source) else { return error };
    let sets = Manifest::ours().sets;
    let mut missing = strings(&config).into_iter().filter(|name| !in_data(name).is_file());
    let found = missing.find_map(|name| {
        let set = sets.iter().find(|set| set.files.iter().any(|file| file.path == name))?;
        Some((name, set))
    });
    let Some((name, set)) = found else { return error };
    let DataSet { name: set, title, .. } = set;
    crf_core::Error::data(match std::env::var_os("CRF_DATA") {
        Some(_) => format!(
            "missing file {} of {title}; get it by: cargo xtask data get {set}",
            in_data(name).display()
        ),
        None => format!(
            "missing file {name} of {title}; CRF_DATA is not set; \
             get it by: cargo xtask data get {set} --into data && export CRF_DATA=data"
        ),
    })
}

/// The directory of all data: the given one, or CRF_DATA.
pub(crate) fn directory(given: Option<&Path>) -> Result<PathBuf> {
    let directory = given.map(Path::to_owned).or_else(|| std::env::var_os("CRF_DATA").map(PathBuf::from));
    let message = "expected a directory for the data: set CRF_DATA, or give one with --into";
    directory.ok_or_else(|| Error::config("data", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_has_digests_and_no_path_twice() {
        let sets = Manifest::ours().sets;
        let mut paths: Vec<&str> =
            sets.iter().flat_map(|set| &set.files).map(|file| file.path.as_str()).collect();
        assert!(sets.iter().flat_map(|set| &set.files).all(|file| file.sha256.len() == 64));
        assert!(
            sets.iter()
                .all(|set| set.files.iter().all(|file| file.path.starts_with(&format!("{}/", set.name))))
        );
        let n = paths.len();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), n);
    }

    #[test]
    fn no_path_leaves_the_directory() {
        for path in ["../outside", "/etc/passwd", "a/../../b", "", "a/./../b"] {
            let text = format!(
                "[[set]]\nname = \"a\"\ntitle = \"\"\ncitation = \"\"\nlicence = \"\"\norigin = \"\"\n\
                 files = [{{ path = \"{path}\", sha256 = \"\" }}]"
            );
            let error = Manifest::parse(&text).expect_err(path).to_string();
            assert!(error.contains("expected a path below the directory of all data"), "{error}");
        }
    }

    #[test]
    #[ignore = "needs CRF_DATA"]
    fn what_is_here_is_what_the_manifest_says() {
        let directory = directory(None).expect("CRF_DATA");
        for file in Manifest::ours().sets.iter().flat_map(|set| &set.files) {
            assert_ne!(file.state(&directory).expect("a file"), State::Different, "{}", file.path);
        }
    }
}
