use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use crf_core::Plugin;

use crate::catalogue::kind::Kind;
use crate::cli::terminal;
use crate::error::{Error, Result};

/// Lists the plugins that configs can name.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  crf list
  crf list learner
  crf explain learner mle    # the manual of one of them")]
pub struct ListArgs {
    /// Lists only this kind: `learner`, `source`, `prototype`, …
    pub(crate) kind: Option<String>,
}

/// Prints all plugins, or those of one kind.
pub(crate) fn run(args: &ListArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let kinds = match &args.kind {
        Some(name) => vec![Kind::named(name).map_err(|message| Error::config("list", message))?],
        None => Kind::ALL.to_vec(),
    };
    let width = Plugin::all().iter().map(|plugin| plugin.tag.len()).max().unwrap_or(0);
    for (i, kind) in kinds.into_iter().enumerate() {
        writeln!(out, "{}{}", if i == 0 { "" } else { "\n" }, kind.name).map_err(terminal)?;
        for plugin in kind.plugins() {
            writeln!(out, "  {:<width$}  {}", plugin.tag, plugin.summary()).map_err(terminal)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
