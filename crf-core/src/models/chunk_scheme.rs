use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Scheme that writes chunks as labels of positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChunkScheme {
    /// `B-x` begins a chunk of type x, `I-x` continues it, `O` is outside of chunks.
    Bio,
    /// As `bio`; in addition `E-x` ends a chunk of several positions, and `S-x` is a chunk of a
    /// single position.
    Bioes,
}

/// Part of a chunk that a label denotes, with the type of the chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkPart<'a> {
    Outside,
    Begin(&'a str),
    Inside(&'a str),
    End(&'a str),
    Single(&'a str),
}

impl ChunkScheme {
    pub(super) fn part(self, label: &str) -> Result<ChunkPart<'_>> {
        let part = match label.split_once('-') {
            None if label == "O" => Some(ChunkPart::Outside),
            Some(("B", kind)) => Some(ChunkPart::Begin(kind)),
            Some(("I", kind)) => Some(ChunkPart::Inside(kind)),
            Some(("E", kind)) if self == ChunkScheme::Bioes => Some(ChunkPart::End(kind)),
            Some(("S", kind)) if self == ChunkScheme::Bioes => Some(ChunkPart::Single(kind)),
            _ => None,
        };
        part.ok_or_else(|| {
            let want = match self {
                ChunkScheme::Bio => "a scheme whose labels the data have: `O`, `B-…` and `I-…` for `bio`",
                ChunkScheme::Bioes => {
                    "a scheme whose labels the data have: `O`, `B-…`, `I-…`, `E-…` and `S-…` for `bioes`"
                }
            };
            Error::setting("constraints", want, format!("the label `{label}`"))
        })
    }

    /// Type of the chunk that may continue after `part`, and true if it must continue.
    fn goes_on<'a>(self, part: ChunkPart<'a>) -> (Option<&'a str>, bool) {
        match part {
            ChunkPart::Begin(kind) | ChunkPart::Inside(kind) => (Some(kind), self == ChunkScheme::Bioes),
            ChunkPart::Outside | ChunkPart::End(_) | ChunkPart::Single(_) => (None, false),
        }
    }

    pub(super) fn may_follow(self, before: ChunkPart<'_>, after: ChunkPart<'_>) -> bool {
        let (open, must) = self.goes_on(before);
        match after {
            ChunkPart::Inside(kind) | ChunkPart::End(kind) => open == Some(kind),
            ChunkPart::Outside | ChunkPart::Begin(_) | ChunkPart::Single(_) => !must,
        }
    }
}
