//! Names of contents: what a cell depends on, the files it reads, and the program that computes it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::config::Plan;
use crate::error::{Error, Result};

/// The SHA-256 of something.
pub(crate) type Digest = [u8; 32];

/// A digest, or the beginning of one, in hexadecimal.
pub(crate) fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The digest of a file's bytes.
pub(crate) fn of_file(path: &Path) -> io::Result<Digest> {
    let (mut file, mut hash) = (File::open(path)?, Sha256::new());
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finalize().into()),
            n => hash.update(&buffer[..n]),
        }
    }
}

/// The digest of the running program: the only version of the code that is right by construction.
pub(crate) fn of_code() -> Result<Digest> {
    static CODE: OnceLock<Digest> = OnceLock::new();
    if let Some(code) = CODE.get() {
        return Ok(*code);
    }
    let program = std::env::current_exe().map_err(Error::io("this program"))?;
    let code = of_file(&program).map_err(Error::io(&program))?;
    Ok(*CODE.get_or_init(|| code))
}

/// What each cell of a plan depends on, by method, then point, then trial.
///
/// A cell is a function of its data, of its method and of seeds that come from names: two cells with one digest have one
/// result, whatever else changed in the file. Files that the source of the data names are part of it with their contents.
pub(crate) fn of_cells(plan: &Plan) -> Result<Vec<Digest>> {
    let experiment = &plan.experiment;
    let json = |value: serde_json::Result<Value>| value.map_err(Error::format("the digest of a cell"));
    let asked = (experiment.seed, &experiment.metrics, &experiment.path, &experiment.reference);
    let shared = json(serde_json::to_value(asked))?;
    let mut files = Files::default();
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
            let of_point = Sha256::new_with_prefix(&parts);
            digests.extend((1..=experiment.trials).map(|trial| -> Digest {
                of_point.clone().chain_update(trial.to_le_bytes()).finalize().into()
            }));
        }
    }
    Ok(digests)
}

/// The digests of files, each of which is read once.
#[derive(Default)]
struct Files {
    known: HashMap<PathBuf, String>,
}

impl Files {
    /// The contents of the files that strings in a source's config name.
    fn named_in(&mut self, source: &Value) -> Result<Vec<String>> {
        let mut contents = Vec::new();
        for path in strings(source).into_iter().map(in_data).filter(|path| path.is_file()) {
            let digest = match self.known.get(&path) {
                Some(digest) => digest.clone(),
                None => hex(&of_file(&path).map_err(Error::io(&path))?),
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

/// Where a file of data would be: below CRF_DATA unless its path is absolute.
pub(crate) fn in_data(name: &str) -> PathBuf {
    std::env::var_os("CRF_DATA").map(PathBuf::from).unwrap_or_default().join(name)
}
