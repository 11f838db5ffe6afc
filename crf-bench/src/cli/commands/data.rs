use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use crf_core::hint;

use crate::cli::terminal;
use crate::error::{Error, Result};
use crate::public_data::{DataSet, Manifest, State, directory, get};
use crate::support::text::plural;

/// Lists public data sets, verifies local files, and downloads missing ones from their publishers.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask data list
  CRF_DATA=~/data cargo xtask data get conll2000
  CRF_DATA=~/data cargo xtask data check

Every file is verified by its SHA-256. `get` needs `curl`.")]
pub struct DataArgs {
    #[command(subcommand)]
    action: Action,
    /// The directory of all data; CRF_DATA if omitted.
    #[arg(long, value_name = "DIR", global = true)]
    into: Option<PathBuf>,
    /// Another manifest of data sets.
    #[arg(long, value_name = "FILE", global = true, hide = true)]
    manifest: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Lists every set with its citation, terms and origin.
    List,
    /// Verifies local files.
    Check {
        /// The set; all sets if omitted.
        name: Option<String>,
    },
    /// Downloads a set.
    Get {
        /// The set, as `data list` names it.
        name: String,
    },
}

/// Lists, verifies or downloads sets.
pub(crate) fn run(args: &DataArgs, out: &mut dyn Write) -> Result<ExitCode> {
    let manifest = match &args.manifest {
        Some(path) => Manifest::parse(&std::fs::read_to_string(path).map_err(Error::io(path))?)?,
        None => Manifest::ours(),
    };
    match &args.action {
        Action::List => {
            for set in &manifest.sets {
                let DataSet { name, title, citation, licence, origin, .. } = set;
                writeln!(
                    out,
                    "{name}: {title}\n  cite    {citation}\n  terms   {licence}\n  origin  {origin}"
                )
                .map_err(terminal)?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Action::Check { name } => {
            let sets: Vec<&DataSet> = match name {
                Some(name) => vec![named(&manifest, name)?],
                None => manifest.sets.iter().collect(),
            };
            check(&sets, &directory(args.into.as_deref())?, out)
        }
        Action::Get { name } => {
            let set = named(&manifest, name)?;
            let directory = directory(args.into.as_deref())?;
            let fetched = get(set, &directory)?;
            writeln!(
                out,
                "{name}: {} fetched, all are right; cite {}",
                plural(fetched, "file"),
                set.citation
            )
            .map_err(terminal)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn named<'m>(manifest: &'m Manifest, name: &str) -> Result<&'m DataSet> {
    let names: Vec<&String> = manifest.sets.iter().map(|set| &set.name).collect();
    let unknown = || Error::config("data", format!("unknown data set `{name}`{}", hint(name, &names)));
    manifest.sets.iter().find(|set| set.name == name).ok_or_else(unknown)
}

/// Prints the state of every file; a file with the wrong contents makes the command fail.
fn check(sets: &[&DataSet], directory: &Path, out: &mut dyn Write) -> Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for set in sets {
        for file in &set.files {
            let state = match file.state(directory)? {
                State::Right => "right",
                State::Missing => "missing",
                State::Different => {
                    code = ExitCode::from(1);
                    "DIFFERENT"
                }
            };
            writeln!(out, "{state:<9}  {}", file.path).map_err(terminal)?;
        }
    }
    Ok(code)
}
