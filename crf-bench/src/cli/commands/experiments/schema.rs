use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use crate::cli::terminal;
use crate::error::{Error, Result};

/// Prints the JSON Schema of experiment files, for completion and checks in editors.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  crf schema > experiment.schema.json

Editors with Taplo find the schema by the first line of a file: `#:schema ./experiment.schema.json`.")]
pub struct SchemaArgs {}

/// Prints the schema.
pub(crate) fn run(out: &mut dyn Write) -> Result<ExitCode> {
    let text = serde_json::to_string_pretty(&crate::config::schema()).map_err(Error::format("schema"))?;
    writeln!(out, "{text}").map_err(terminal)?;
    Ok(ExitCode::SUCCESS)
}
