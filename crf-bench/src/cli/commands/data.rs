use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use crf_core::hint;

use crate::cli::terminal;
use crate::error::{Error, Result};
use crate::public_data::{DataSet, Manifest, State, directory, get};

/// Lists public data sets, checks which are here, and gets the others from where they are published.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cargo xtask data list
  CRF_DATA=~/data cargo xtask data get conll2000
  CRF_DATA=~/data cargo xtask data check

Everything is verified by its SHA-256; `get` needs `curl`.")]
pub struct DataArgs {
    #[command(subcommand)]
    action: Action,
    /// The directory of all data; that in CRF_DATA unless given.
    #[arg(long, value_name = "DIR", global = true)]
    into: Option<PathBuf>,
    /// Another list of sets than ours.
    #[arg(long, value_name = "FILE", global = true, hide = true)]
    manifest: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Shows every set with its terms, its origin and how to cite it.
    List,
    /// Verifies the files that are here.
    Check {
        /// Only this set.
        name: Option<String>,
    },
    /// Fetches a set.
    Get {
        /// Its name.
        name: String,
    },
}

/// Does what is asked with the sets.
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
            let (set, directory) = (named(&manifest, name)?, directory(args.into.as_deref())?);
            let fetched = get(set, &directory)?;
            writeln!(out, "{name}: {fetched} files fetched, all are right; cite {}", set.citation)
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

/// Prints the state of every file; something else than what should be there is a failure.
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
