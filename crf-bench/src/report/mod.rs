//! The report of a finished run: result files, figures and pages. Behind the feature `report`.
//!
//! Start with [`Report`], which writes all files of one run. `result_files.rs` writes the numbers,
//! `figures` draws SVG, `pages` writes HTML, `significance.rs` tests differences of methods, and
//! `words.rs` holds the texts that pages and terminal share. `record.rs` is a finished run as JSON:
//! the site of all runs is built from records alone, without any plugin.
//!
//! The same results give the same bytes, except in files about times. Pages need neither network
//! nor scripts.

mod figures;
mod pages;
mod record;
mod result_files;
mod significance;
mod words;

#[cfg(feature = "terminal")]
pub(crate) use figures::film::{Film, Thing};
use figures::svg::{draw, figure};
use figures::{densities, paths};
pub use pages::run::page;
use pages::site;
#[cfg(feature = "terminal")]
pub(crate) use pages::site::{Site, site};
pub use record::{Judged, Record, Sheet};
pub use significance::Comparison;
pub(crate) use words::{QUICK, limited, rows, used_all_iterations, word};

use crate::claims::claim::Verdict;
use crate::config::Plan;
use crate::error::{Error, Result};
use crate::experiment::run_directory::RunDirectory;
use crate::experiment::runner::Results;
use crate::results::summary::Summary;

/// A finished run with all that reports show.
#[derive(Debug)]
pub struct Report<'a> {
    /// The plan of the run.
    pub plan: &'a Plan,
    /// The results of all cells.
    pub results: &'a Results,
    /// The results aggregated over trials.
    pub summary: Summary,
    /// The verdict on each claim.
    pub verdicts: Vec<Verdict>,
}

/// The names of all files of a report.
pub(crate) const FILES: [&str; 9] = [
    "results.jsonl",
    "timings.jsonl",
    "results.csv",
    "paths.csv",
    site::TIMES,
    "config.toml",
    "figure.svg",
    "index.html",
    site::RECORD,
];

impl<'a> Report<'a> {
    /// Aggregates results and judges all claims.
    pub fn new(plan: &'a Plan, results: &'a Results) -> Self {
        let summary = results.summary(plan);
        let verdicts =
            plan.experiment.claims.iter().map(|statement| statement.claim.judge(&summary)).collect();
        Report { plan, results, summary, verdicts }
    }

    /// Writes all files of the report, [`FILES`]; the last one marks them as complete.
    pub(crate) fn write(&self, directory: &RunDirectory) -> Result<()> {
        let title = &self.plan.experiment.title;
        let settings = &self.plan.experiment.figure;
        let mut further = densities::charts(&self.summary, &settings.densities);
        further.extend(paths::by_size(self));
        let chart = figure(&self.summary, settings, title, &further);
        let record = Record::new(self)?;
        let config = result_files::config(self)?;
        directory.remove(site::RECORD)?;
        directory.write("results.jsonl", &result_files::results(self)?)?;
        directory.write("timings.jsonl", &result_files::timings(self)?)?;
        directory.write("results.csv", &result_files::csv(self)?)?;
        let times = paths::by_time(self).map(|chart| draw(&chart, title).0);
        if let Some(times) = &times {
            directory.write("paths.csv", &paths::csv(self)?)?;
            directory.write(site::TIMES, times.as_bytes())?;
        }
        directory.write("config.toml", config.as_bytes())?;
        directory.write("figure.svg", chart.0.as_bytes())?;
        let figures = chart.0 + &times.unwrap_or_default();
        directory.write("index.html", page(&record, &figures, &config, None).0.as_bytes())?;
        directory
            .write(site::RECORD, &serde_json::to_vec_pretty(&record).map_err(Error::format(site::RECORD))?)
    }
}
