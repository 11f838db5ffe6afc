//! The machine of a run.

use serde::{Deserialize, Serialize};

/// The machine that a run was finished on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hardware {
    /// The name of the processor, if known.
    pub processor: String,
    /// Number of available cores.
    pub cores: usize,
    /// The memory in GB, if known.
    pub memory: Option<f64>,
    /// The operating system and the architecture.
    pub system: String,
}

impl Hardware {
    /// This machine.
    pub(crate) fn here() -> Self {
        let entry = |file: &str, key: &str| {
            let text = std::fs::read_to_string(file).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_prefix(':'))?;
            Some(line.trim().to_owned())
        };
        let kilobytes = entry("/proc/meminfo", "MemTotal")
            .and_then(|memory| memory.trim_end_matches(" kB").parse::<f64>().ok());
        Hardware {
            processor: entry("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory: kilobytes.map(|kilobytes| kilobytes * 1024.0 / 1e9),
            system: format!("{}, {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}

impl std::fmt::Display for Hardware {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {} cores", self.processor, self.cores)?;
        self.memory.map_or(Ok(()), |memory| write!(f, ", {memory:.0} GB"))?;
        write!(f, ", {}", self.system)
    }
}
