use crf_core::{Result, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much data one part of a trial has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Size {
    /// How many sequences; 1 when left out.
    pub sequences: usize,
    /// How many positions each of them has; 1000 when left out.
    pub length: usize,
}

impl Default for Size {
    fn default() -> Self {
        Size { sequences: 1, length: 1000 }
    }
}

impl Size {
    /// Refuses parts without any position; `key` is the setting that holds the size.
    pub(crate) fn check(&self, key: &str) -> Result<()> {
        require(self.sequences > 0, &format!("{key}.sequences"), "at least 1", self.sequences)?;
        require(self.length > 0, &format!("{key}.length"), "at least 1", self.length)
    }
}
