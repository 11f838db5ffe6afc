//! Public data sets: what there is, what is here, and how to get the rest.

mod convert;
mod get;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use crf_core::Source;
use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use self::convert::Convert;
pub(crate) use self::get::get;
use crate::error::{Error, Result};
use crate::experiment::cell_digest::{hex, in_data, strings};

/// The sets we know.
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
    /// Below the directory of all data.
    pub(crate) path: String,
    /// Of its content, uncompressed.
    sha256: String,
    /// Where it can be fetched.
    from: Option<String>,
    /// What is to be made of what is fetched.
    #[serde(default, rename = "as")]
    convert: Convert,
}

/// What there is of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It is what it should be.
    Right,
    /// It is there, but something else.
    Different,
    /// It is not there.
    Missing,
}

impl Manifest {
    /// The sets that the toolkit has sources for.
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
    /// What there is of it below a directory.
    pub(crate) fn state(&self, directory: &Path) -> Result<State> {
        let path = directory.join(&self.path);
        if !path.exists() {
            return Ok(State::Missing);
        }
        let content = content(&path).map_err(Error::io(&path))?;
        Ok(if self.is_right(&content) { State::Right } else { State::Different })
    }

    fn is_right(&self, content: &[u8]) -> bool {
        hex(&Sha256::digest(content)) == self.sha256
    }
}

/// A file's content, uncompressed.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    let (mut bytes, mut plain) = (Vec::new(), Vec::new());
    File::open(path)?.read_to_end(&mut bytes)?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain)?;
    Ok(plain)
}

/// What went wrong with a source, and the command that gets the set of which it misses a file.
pub(crate) fn explained(error: crf_core::Error, source: &dyn Source) -> crf_core::Error {
    let Ok(config) = serde_json::to_value(source) else { return error };
    let sets = Manifest::ours().sets;
    let missing = strings(&config).into_iter().filter(|name| !in_data(name).is_file());
    let set = missing
        .filter_map(|name| sets.iter().find(|set| set.files.iter().any(|file| file.path == name)))
        .next();
    let Some(set) = set else { return error };
    let how = match std::env::var_os("CRF_DATA") {
        Some(_) => format!("`cargo xtask data get {}` gets it", set.name),
        None => format!(
            "`cargo xtask data get {} --into data` gets it, and `export CRF_DATA=data` says where it is",
            set.name
        ),
    };
    crf_core::Error::data(format!("{error}; {how}"))
}

/// The directory of all data: the one that is given, or that of the environment.
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
