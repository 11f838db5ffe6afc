use crf_core::{Result, require};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::check_sweeps;

/// Order in which messages are updated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MessageSchedule {
    /// Nodes in order, alternating direction, always with the latest messages.
    #[default]
    Sequential,
    /// All messages at once from those of the previous sweep, on all cores if the graph is large.
    Parallel,
    /// Always a node whose pending change is of the largest order of magnitude (Elidan et al.
    /// 2006).
    Residual,
}

/// Settings of every plugin that passes messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) schedule: MessageSchedule,
    /// Weight of the old message in a new one.
    pub(crate) damping: f64,
    pub(crate) tolerance: f64,
    pub(crate) max_sweeps: u32,
}

impl Default for Plan {
    fn default() -> Self {
        Plan { schedule: MessageSchedule::Sequential, damping: 0.0, tolerance: 1e-9, max_sweeps: 1000 }
    }
}

impl Plan {
    /// Rejects settings out of range.
    pub(crate) fn check(&self) -> Result<()> {
        require((0.0..1.0).contains(&self.damping), "damping", "at least 0 and below 1", self.damping)?;
        check_sweeps(self.tolerance, self.max_sweeps)
    }
}
