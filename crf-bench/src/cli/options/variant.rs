use std::path::Path;

use clap::Args;

use crate::config::{Override, Plan, load};
use crate::error::Result;

/// The variant of an experiment file.
#[derive(Debug, Args)]
pub(crate) struct VariantArgs {
    /// Runs the quick variant of each file, in its table `quick`: seconds instead of hours.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Sets a key of the config, after `--quick`; may be repeated.
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
