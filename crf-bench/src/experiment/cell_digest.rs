//! Digests: of all that a cell depends on, of the files it reads, and of the program that computes
//! it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::config::Plan;
use crate::error::{Error, Result};

/// A SHA-256.
pub(crate) type Digest = [u8; 32];

/// A digest, or its beginning, in hexadecimal.
pub(crate) fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The digest of a file's bytes.
pub(crate) fn digest_file(path: &Path) -> io::Result<Digest> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finalize().into()),
            n => hash.update(&buffer[..n]),
        }
    }
}

/// The digest of the running program: a version of the code that cannot be wrong.
pub(crate) fn program_digest() -> Result<Digest> {
    static CODE: OnceLock<Digest> = OnceLock::new();
    if let Some(code) = CODE.get() {
        return Ok(*code);
    }
    let program = std::env::current_exe().map_err(Error::io("this program"))?;
    let code = digest_file(&program).map_err(Error::io(&program))?;
    Ok(*CODE.get_or_init(|| code))
}

/// The digest of all that each cell of a plan depends on, by method, then point, then trial.
///
/// A cell is a function of its data, its method and seeds that come from names: two cells with the
/// same digest have the same result, whatever else changed in the file. The contents of files that
/// the source of the data names are included.
pub(crate) fn cell_digests(plan: &Plan) -> Result<Vec<Digest>> {
    let experiment = &plan.experiment;
    let json = |value: serde_json::Result<Value>| value.map_err(Error::format("the digest of a cell"));
    let settings = (experiment.seed, &experiment.metrics, &experiment.path, &experiment.reference);
    let shared = json(serde_json::to_value(settings))?;
    let mut files = FileDigests::default();
    let mut sources = Vec::new();
    for point in &plan.points {
        let source = json(serde_json::to_value(&point.dataset))?;
        let contents = files.named_in(&source)?;
        sources.push((source, contents));
    }
    let mut digests = Vec::new();
    for number in 0..experiment.methods.len() {
        for (point, source) in plan.points.iter().zip(&sources) {
            let (name, method) = &point.methods[number];
            let parts = (&shared, source, point.settings.to_string(), name, method);
            let parts = serde_json::to_vec(&parts).map_err(Error::format("the digest of a cell"))?;
            let point_hash = Sha256::new_with_prefix(&parts);
            digests.extend((1..=experiment.trials).map(|trial| -> Digest {
                point_hash.clone().chain_update(trial.to_le_bytes()).finalize().into()
            }));
        }
    }
    Ok(digests)
}

/// The files that the sources of a plan's data name.
pub(crate) fn data_files(plan: &Plan) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for point in &plan.points {
        let source = serde_json::to_value(&point.dataset).map_err(Error::format("the source of the data"))?;
        files.extend(named_files(&source));
    }
    files.sort();
    files.dedup();
    Ok(files)
}

/// The files that strings in a config name.
pub(crate) fn named_files(config: &Value) -> Vec<PathBuf> {
    strings(config).into_iter().map(in_data).filter(|path| path.is_file()).collect()
}

/// The digests of files, each of which is read once.
#[derive(Default)]
struct FileDigests {
    known: HashMap<PathBuf, String>,
}

impl FileDigests {
    /// The digests of the files that strings in a source's config name.
    fn named_in(&mut self, source: &Value) -> Result<Vec<String>> {
        let mut contents = Vec::new();
        for path in named_files(source) {
            let digest = match self.known.get(&path) {
                Some(digest) => digest.clone(),
                None => hex(&digest_file(&path).map_err(Error::io(&path))?),
            };
            self.known.insert(path, digest.clone());
            contents.push(digest);
        }
        Ok(contents)
    }
}

/// All strings in a config.
pub(crate) fn strings(config: &Value) -> Vec<&str> {
    match config {
        Value::String(text) => vec![text],
        Value::Array(array) => array.iter().flat_map(strings).collect(),
        Value::Object(object) => object.values().flat_map(strings).collect(),
        _ => Vec::new(),
    }
}

/// The path of a data file: below CRF_DATA unless it is absolute.
pub(crate) fn in_data(name: &str) -> PathBuf {
    std::env::var_os("CRF_DATA").map(PathBuf::from).unwrap_or_default().join(name)
}
