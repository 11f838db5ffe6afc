use std::io::Write;
use std::process::ExitCode;

use crf_core::{Plugin, hint};

use super::{ListArgs, terminal};
use crate::error::{Error, Result};

/// Prints all plugins, or those of one kind.
pub(super) fn run(args: &ListArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let plugins = Plugin::all();
    let mut kinds: Vec<&str> = plugins.iter().map(|plugin| plugin.kind).collect();
    kinds.dedup();
    if let Some(asked) = &args.kind {
        // One of them or several: `learner` and `learners`.
        let kind = kinds
            .iter()
            .copied()
            .find(|kind| asked.strip_prefix(kind).is_some_and(|rest| matches!(rest, "" | "s")));
        let unknown = || Error::config("list", format!("unknown kind `{asked}`{}", hint(asked, &kinds)));
        kinds = vec![kind.ok_or_else(unknown)?];
    }
    let width = plugins.iter().map(|plugin| plugin.tag.len()).max().unwrap_or(0);
    for (i, kind) in kinds.into_iter().enumerate() {
        writeln!(out, "{}{kind}", if i == 0 { "" } else { "\n" }).map_err(terminal)?;
        for plugin in plugins.iter().filter(|plugin| plugin.kind == kind) {
            writeln!(out, "  {:<width$}  {}", plugin.tag, plugin.summary()).map_err(terminal)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
