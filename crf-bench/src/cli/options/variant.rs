use std::path::Path;

use clap::Args;

use crate::config::{Override, Plan, load};
use crate::error::Result;

/// Which variant of an experiment file is meant.
#[derive(Debug, Args)]
pub(crate) struct VariantArgs {
    /// Lays each file's `quick` table over it: seconds instead of hours.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Another value for a key of the config, after `--quick`.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl VariantArgs {
    /// Reads and checks a file.
    pub(crate) fn load(&self, file: &Path) -> Result<Plan> {
        let settings = self.set.iter().map(|text| Override::parse(text)).collect::<Result<Vec<_>>>()?;
        load(file, self.quick, &settings)
    }
}
