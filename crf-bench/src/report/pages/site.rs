//! The site of all finished runs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use maud::{Markup, html};

use super::growth::growth;
use super::overview::overview;
use super::peers::peers;
use super::run::{FILES, frame, page};
use crate::error::{Error, Result};
use crate::report::record::Record;
use crate::support::atomic_file::{AtomicFile, require_regular};
use crate::support::folders::FilesBelow;

/// A finished run and its path below the directory of all runs.
pub(crate) struct Finished {
    pub(crate) name: PathBuf,
    pub(crate) record: Record,
}

/// The site that was built.
#[derive(Debug, Default)]
pub(crate) struct Site {
    /// Number of runs that it shows.
    pub(crate) n_runs: usize,
    /// The runs that it could not show, each with the reason.
    pub(crate) omitted: Vec<Error>,
}

/// Builds the site of all finished runs below `results` and of criterion's benchmarks.
///
/// Without runs nothing is written. A directory that holds something else than a site is an error.
pub(crate) fn site(results: &Path, criterion: &Path, out: &Path) -> Result<Site> {
    let FilesBelow { paths, unread, .. } = FilesBelow::new(results);
    let mut omitted: Vec<Error> = unread.into_iter().map(|(path, error)| Error::io(path)(error)).collect();
    let mut runs = Vec::new();
    let records = paths.iter().filter(|path| path.file_name().is_some_and(|name| name == RECORD));
    for name in records.filter_map(|path| path.parent()) {
        match read_run(&results.join(name), name.to_owned()) {
            Ok(run) => runs.push(run),
            Err(error) => omitted.push(error),
        }
    }
    if runs.is_empty() {
        return Ok(Site { n_runs: 0, omitted });
    }
    require_site(out)?;
    let mut shown = Vec::new();
    for run in runs {
        match write_run(&results.join(&run.name), &run, &out.join(RUNS).join(&run.name)) {
            Ok(()) => shown.push(run),
            Err(error) => omitted.push(error),
        }
    }
    let (growth, (peers, unread)) = (growth(criterion), peers(&results.join("peers")));
    omitted.extend(unread);
    let none = |what: &str, command: &str| html! { p { "There are no " (what) " yet. Make them by " code { (command) } "." } };
    let growth = growth.unwrap_or_else(|| none("benchmarks", "cargo bench -p crf-bench"));
    let compare = "mkdir -p results/peers && cargo xtask compare --json > results/peers/conll2000.json";
    let peers = peers.unwrap_or_else(|| none("comparisons", compare));
    write(&out.join("growth.html"), frame("Growth of time with size", Some(INDEX), growth))?;
    write(&out.join("peers.html"), frame("Comparison with other toolkits", Some(INDEX), peers))?;
    write(&out.join(INDEX), frame(TITLE, None, overview(&shown)))?;
    Ok(Site { n_runs: shown.len(), omitted })
}

/// The file that marks a run as finished.
pub(crate) const RECORD: &str = "run.json";
/// The figure of paths against time.
pub(crate) const TIMES: &str = "times.svg";
/// The directory of the pages of runs.
pub(crate) const RUNS: &str = "runs";
/// The first page.
const INDEX: &str = "index.html";
/// The title of the first page, by which a site is known.
const TITLE: &str = "Experiments with conditional random fields";

/// Fails unless a directory is new, empty, or has a site.
fn require_site(out: &Path) -> Result<()> {
    if out.as_os_str().is_empty() {
        return Err(Error::config("--out", "expected a directory, got an empty name"));
    }
    let entries = match fs::read_dir(out) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(Error::io(out))?,
    };
    let index = out.join(INDEX);
    let is_ours = match index.symlink_metadata() {
        Ok(_) => read_text(&index).is_ok_and(|page| page.contains(&format!("<title>{TITLE}</title>"))),
        // An interrupted report leaves a site without its first page.
        Err(_) => entries.flatten().all(|entry| {
            let name = entry.file_name();
            [RUNS, "growth.html", "peers.html"].iter().any(|ours| name == *ours)
                || name.to_string_lossy().starts_with(".index.html.")
        }),
    };
    let message = "the directory holds something else than a report; give another one with --out";
    if is_ours { Ok(()) } else { Err(Error::config(out.display(), message)) }
}

fn read_run(directory: &Path, name: PathBuf) -> Result<Finished> {
    let path = directory.join(RECORD);
    let record = serde_json::from_str(&read_text(&path)?);
    let record =
        record.map_err(|error| Error::config(path.display(), format!("not the record of a run: {error}")))?;
    Ok(Finished { name, record })
}

fn write_run(from: &Path, run: &Finished, to: &Path) -> Result<()> {
    let texts = FILES.map(|(name, _)| Ok((name, read_text(&from.join(name))?)));
    let texts = texts.into_iter().collect::<Result<Vec<_>>>()?;
    let text = |wanted: &str| texts.iter().find(|(name, _)| *name == wanted).map_or("", |(_, text)| text);
    let up = "../".repeat(run.name.components().count() + 1) + INDEX;
    // Only runs with paths have this figure.
    let times = from.join(TIMES);
    let times = if times.exists() { read_text(&times)? } else { String::new() };
    let figures = text("figure.svg").to_owned() + &times;
    for (name, text) in &texts {
        write_text(&to.join(name), text)?;
    }
    write(&to.join(INDEX), page(&run.record, &figures, text("config.toml"), Some(&up)))
}

/// The text of a file; a pipe of its name is not waited for.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    require_regular(path)?;
    fs::read_to_string(path).map_err(Error::io(path))
}

fn write(path: &Path, page: Markup) -> Result<()> {
    write_text(path, &page.into_string())
}

fn write_text(path: &Path, text: &str) -> Result<()> {
    let directory = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(directory).map_err(Error::io(directory))?;
    AtomicFile::regular(path)?.write_soon(|file| file.write_all(text.as_bytes()).map_err(Error::io(path)))
}
