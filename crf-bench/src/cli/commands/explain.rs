use std::io::{self, Write};
use std::process::ExitCode;

use clap::Args;
use crf_core::Plugin;

use crate::catalogue::example::{example, experiment};
use crate::catalogue::kind::Kind;
use crate::catalogue::manual::{Entry, documentation, entries};
use crate::cli::terminal;
use crate::error::{Error, Result};

/// Explains a plugin: what it does, its settings with defaults and ranges, and an example that
/// runs.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  crf explain learner mle
  crf explain inference belief-propagation
  cargo xtask explain selector none --example > example.toml && cargo xtask experiment example.toml")]
pub struct ExplainArgs {
    /// The kind of plugin, as `list` shows it.
    kind: String,
    /// The name, which is the `type` in configs; all of the kind are listed if omitted.
    #[arg(value_name = "TYPE")]
    tag: Option<String>,
    /// Prints only the example: a whole experiment, or for formats the lines of a config.
    #[arg(long)]
    example: bool,
}

/// Prints the manual of a plugin.
pub(crate) fn run(args: &ExplainArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let kind = Kind::named(&args.kind).map_err(|message| Error::config("explain", message))?;
    let Some(tag) = &args.tag else {
        return super::list::run(&super::list::ListArgs { kind: Some(args.kind.clone()) }, out);
    };
    let plugin = kind.plugin(tag).map_err(|message| Error::config("explain", message))?;
    let example = text_of_example(plugin)?;
    if args.example {
        write!(out, "{example}").map_err(terminal)?;
    } else {
        explain(kind, plugin, &example, out)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn explain(kind: Kind, plugin: &Plugin, example: &str, out: &mut dyn Write) -> Result<()> {
    let entries = entries(kind, plugin)?;
    let print = |out: &mut dyn Write| -> io::Result<()> {
        writeln!(out, "{} `{}`\n\n{}\n", plugin.kind, plugin.tag, documentation(plugin))?;
        for entry in &entries {
            match &entry.default {
                Some(default) => writeln!(out, "{} = {default}", entry.key)?,
                None => writeln!(out, "{}, which must be given", entry.key)?,
            }
            writeln!(out, "    {}. {}", values(entry), entry.doc.replace('\n', " "))?;
        }
        writeln!(out, "{}Example:\n", if entries.is_empty() { "" } else { "\n" })?;
        example.lines().try_for_each(|line| match line {
            "" => writeln!(out),
            line => writeln!(out, "    {line}"),
        })
    };
    print(out).map_err(terminal)
}

/// The values that a setting takes: their type and range; a range that the documentation states is
/// not repeated.
fn values(entry: &Entry) -> String {
    let Entry { takes, range, doc, .. } = entry;
    let Some(range) = range else { return takes.clone() };
    let bare = range.strip_prefix("a finite number of ").unwrap_or(range);
    match () {
        () if doc.contains(bare) => takes.clone(),
        () if range.contains("number") => range.clone(),
        () => format!("{takes}, {range}"),
    }
}

/// The example of a plugin as the text of a file.
fn text_of_example(plugin: &Plugin) -> Result<String> {
    let config = example(plugin)?;
    toml::to_string(&experiment(plugin, &config).unwrap_or(config)).map_err(Error::format("example"))
}
