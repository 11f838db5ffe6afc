//! The site of all finished runs.

use std::fs;
use std::path::{Path, PathBuf};

use maud::{Markup, html};

use super::growth::growth;
use super::overview::overview;
use super::peers::peers;
use super::run::{FILES, frame, page};
use crate::error::{Error, Result};
use crate::report::record::Record;

/// A finished run and its path below the directory of all runs.
pub(crate) struct Finished {
    pub(crate) name: PathBuf,
    pub(crate) record: Record,
}

/// Builds the site of all finished runs below `results` and of criterion's benchmarks; returns the
/// number of runs.
///
/// Without runs nothing is written.
pub(crate) fn site(results: &Path, criterion: &Path, out: &Path) -> Result<usize> {
    let mut names = Vec::new();
    finished(results, Path::new(""), &mut names);
    names.sort();
    if names.is_empty() {
        return Ok(0);
    }
    let mut runs = Vec::new();
    for name in names {
        let path = results.join(&name).join(RECORD);
        let text = fs::read_to_string(&path).map_err(Error::io(&path))?;
        let record = serde_json::from_str(&text).map_err(Error::format("run.json"))?;
        runs.push(Finished { name, record });
    }
    for run in &runs {
        write_run(&results.join(&run.name), run, &out.join(RUNS).join(&run.name))?;
    }
    let (growth, peers) = (growth(criterion), peers(&results.join("peers")));
    let none = |what: &str, command: &str| html! { p { "There are no " (what) " yet. Make them by " code { (command) } "." } };
    let growth = growth.unwrap_or_else(|| none("benchmarks", "cargo bench -p crf-bench"));
    let compare = "mkdir -p results/peers && cargo xtask compare --json > results/peers/conll2000.json";
    let peers = peers.unwrap_or_else(|| none("comparisons", compare));
    write(&out.join("growth.html"), frame("Growth of time with size", Some("index.html"), growth))?;
    write(&out.join("peers.html"), frame("Comparison with other toolkits", Some("index.html"), peers))?;
    write(
        &out.join("index.html"),
        frame("Experiments with conditional random fields", None, overview(&runs)),
    )?;
    Ok(runs.len())
}

/// The file that marks a run as finished.
pub(crate) const RECORD: &str = "run.json";
/// The figure of paths against time.
pub(crate) const TIMES: &str = "times.svg";
/// The directory of the pages of runs.
pub(crate) const RUNS: &str = "runs";

fn finished(root: &Path, below: &Path, names: &mut Vec<PathBuf>) {
    if root.join(below).join(RECORD).is_file() {
        names.push(below.to_owned());
    }
    for entry in fs::read_dir(root.join(below)).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            finished(root, &below.join(entry.file_name()), names);
        }
    }
}

fn write_run(from: &Path, run: &Finished, to: &Path) -> Result<()> {
    fs::create_dir_all(to).map_err(Error::io(to))?;
    for (name, _) in FILES {
        fs::copy(from.join(name), to.join(name)).map_err(Error::io(from.join(name)))?;
    }
    let read = |name: &str| fs::read_to_string(from.join(name)).map_err(Error::io(from.join(name)));
    let up = "../".repeat(run.name.components().count() + 1) + "index.html";
    // Only runs with paths have this figure.
    let times = fs::read_to_string(from.join(TIMES)).unwrap_or_default();
    let figures = read("figure.svg")? + &times;
    write(&to.join("index.html"), page(&run.record, &figures, &read("config.toml")?, Some(&up)))
}

fn write(path: &Path, page: Markup) -> Result<()> {
    let directory = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(directory).map_err(Error::io(directory))?;
    fs::write(path, page.into_string()).map_err(Error::io(path))
}
