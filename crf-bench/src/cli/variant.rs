use std::path::Path;

use clap::Args;

use crate::config::{Plan, Setting, load};
use crate::error::Result;

/// Which variant of an experiment file is meant.
#[derive(Debug, Args)]
pub struct VariantArgs {
    /// Lays each file's `quick` table over it: seconds instead of hours.
    #[arg(long)]
    pub(super) quick: bool,
    /// Another value for a key of the config, after `--quick`.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl VariantArgs {
    /// Reads and checks a file.
    pub(super) fn load(&self, file: &Path) -> Result<Plan> {
        let settings = self.set.iter().map(|text| Setting::parse(text)).collect::<Result<Vec<_>>>()?;
        load(file, self.quick, &settings)
    }
}
