//! Model files: a head with version and checksum, then the contents in postcard's format.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crf_core::{Constrained, Decode, FittedFeatures, Forbidden, Inference, Model, Trace, require_memory};
use crf_datasets::Format;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::config::Training;
use crate::error::{Error, Result};
use crate::model::nested::read_nested;
use crate::support::atomic_file::AtomicFile;

/// The first bytes of every model file.
const MAGIC: [u8; 8] = *b"CRFMODEL";
/// The version that this program writes and reads.
const VERSION: u32 = 1;
/// Magic, version, length of the payload, and its SHA-256; numbers in little-endian order.
const HEAD: usize = 8 + 4 + 8 + 32;

/// A trained model with all that is needed to use it, in one file.
///
/// [`ModelFile::load`] reads one, [`ModelFile::tag_file`] labels data, [`ModelFile::evaluate_file`]
/// scores a model.
#[derive(Debug)]
pub struct ModelFile {
    /// The stored contents.
    pub contents: ModelContents,
    /// The settings of prediction, taken from the stored config.
    pub settings: PredictionSettings,
}

/// The contents of a model file.
#[derive(Debug, Serialize, Deserialize)]
pub struct ModelContents {
    /// The fitted features, with the names of channels and labels.
    pub features: FittedFeatures,
    /// The model.
    pub model: Box<dyn Model>,
    /// The config it was trained with, as TOML with all defaults spelled out.
    pub config: String,
    /// SHA-256 of the uncompressed training data, in hexadecimal.
    pub digest: String,
    /// The version of the program that trained it.
    pub toolkit: String,
    /// The trace of the training, without times, so that equal trainings make equal files.
    pub trace: Trace,
}

/// The part of the training config that prediction needs.
#[derive(Debug, Deserialize)]
pub struct PredictionSettings {
    /// The format of the training data.
    pub format: Box<dyn Format>,
    /// The inference that computes marginals and labellings.
    pub inference: Box<dyn Inference>,
    /// The decoding.
    pub decode: Decode,
    /// The seed of the training.
    pub seed: u64,
}

impl ModelFile {
    /// A model file from its contents; the config must be complete.
    pub fn new(contents: ModelContents) -> Result<Self, toml::de::Error> {
        let settings = toml::from_str(&contents.config)?;
        Ok(ModelFile { contents, settings })
    }

    /// The same model with further constraints.
    pub fn constrained(self, forbidden: Forbidden) -> Self {
        let ModelFile { contents, settings } = self;
        let model = Box::new(Constrained::new(contents.model, forbidden));
        ModelFile { contents: ModelContents { model, ..contents }, settings }
    }

    /// The training config.
    pub(crate) fn training(&self) -> Result<Training> {
        toml::from_str(&self.contents.config).map_err(Error::format("the stored config"))
    }

    /// Writes the file: it appears complete or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.save_to(AtomicFile::new(path)?).map(drop)
    }

    /// Writes the file, and returns its number of bytes.
    pub(crate) fn save_to(&self, target: AtomicFile) -> Result<u64> {
        let bytes = self.to_bytes()?;
        target.write(|file| file.write_all(&bytes).map_err(Error::io("the model file")))?;
        Ok(bytes.len() as u64)
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let bytes = postcard::to_extend(&self.contents, vec![0; HEAD]);
        let mut bytes = bytes.map_err(Error::format("model"))?;
        let (head, payload) = bytes.split_at_mut(HEAD);
        head[..8].copy_from_slice(&MAGIC);
        head[8..12].copy_from_slice(&VERSION.to_le_bytes());
        head[12..20].copy_from_slice(&(payload.len() as u64).to_le_bytes());
        head[20..].copy_from_slice(&Sha256::digest(&*payload));
        Ok(bytes)
    }

    /// Reads a file; errors name it.
    pub fn load(path: &Path) -> Result<Self> {
        ModelFile::load_sized(path).map(|(file, _)| file)
    }

    /// [`ModelFile::load`], and the number of bytes of the file, which a pipe does not tell.
    pub(crate) fn load_sized(path: &Path) -> Result<(Self, u64)> {
        let wrong = |message: String| Error::Model { path: path.to_owned(), message };
        let broken = |error: std::io::Error| wrong(format!("expected a model file: {error}"));
        let mut file = File::open(path).map_err(broken)?;
        let known = file.metadata().map_err(broken)?;
        let size = known.is_file().then_some(known.len());
        let mut head = Vec::new();
        file.by_ref().take(HEAD as u64).read_to_end(&mut head).map_err(broken)?;
        let length = read_head(&head, size).map_err(wrong)?;
        let advice = "the file promises more than this machine can read";
        require_memory(length as f64, "the content of the model file", advice)
            .map_err(|error| wrong(error.to_string()))?;
        // Only what the file has is trusted, not what it promises.
        let mut payload = Vec::with_capacity(if size.is_some() { length } else { 0 });
        file.take(length as u64 + 1).read_to_end(&mut payload).map_err(broken)?;
        let size = (HEAD + payload.len()) as u64;
        read_head(&head, Some(size)).map_err(wrong)?;
        Ok((ModelFile::read_payload(&head, &payload).map_err(wrong)?, size))
    }

    /// [`ModelFile::load`] for a file in memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        read_head(&bytes[..bytes.len().min(HEAD)], Some(bytes.len() as u64))?;
        ModelFile::read_payload(&bytes[..HEAD], &bytes[HEAD..])
    }

    /// Reads the content, after its checksum: no parser sees bytes that were damaged.
    fn read_payload(head: &[u8], payload: &[u8]) -> Result<Self, String> {
        if head[20..] != Sha256::digest(payload)[..] {
            return Err("damaged: the checksum is not that of the content".to_owned());
        }
        let (mut contents, rest) = read_nested::<ModelContents>(payload)
            .map_err(|error| format!("the content is no model of version 1: {error}"))?;
        if rest > 0 {
            return Err(format!("the content is followed by {rest} bytes that are no part of the model"));
        }
        contents.model.restore(&contents.features).map_err(|error| format!("the content: {error}"))?;
        ModelFile::new(contents).map_err(|error| format!("the stored config: {}", error.message()))
    }
}

/// The length of the payload by the head of a file, if a file of the given size has it. The size of
/// a pipe is not known before its end.
fn read_head(head: &[u8], size: Option<u64>) -> Result<usize, String> {
    if head.is_empty() {
        return Err("the file is empty; expected a model file".to_owned());
    }
    let n = head.len().min(MAGIC.len());
    if head[..n] != MAGIC[..n] {
        return Err("not a model file: it does not begin with `CRFMODEL`".to_owned());
    }
    let got = size.unwrap_or(head.len() as u64);
    let truncated = |want: u64| format!("truncated: expected {want} bytes, got {got}");
    let (Some(version), Some(length)) =
        (head[n..].first_chunk().map(|bytes| u32::from_le_bytes(*bytes)), head.get(12..20))
    else {
        return Err(truncated(HEAD as u64));
    };
    if version != VERSION {
        return Err(format!("version {version} of model files; this program reads version {VERSION}"));
    }
    if head.len() < HEAD {
        return Err(truncated(HEAD as u64));
    }
    let length = length.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
    match length.checked_add(HEAD as u64) {
        Some(want) if size.is_some_and(|size| want > size) => Err(truncated(want)),
        Some(want) if size.is_none_or(|size| want == size) => {
            usize::try_from(length).map_err(|_| truncated(want))
        }
        _ => Err(format!("damaged: its head and content should be {length} + {HEAD} bytes, got {got}")),
    }
}
