//! What a run leaves behind: results, a figure, a page, and a table on the terminal.

mod axis;
mod chart;
mod directory;
mod files;
mod film;
mod page;
mod svg;
mod terminal;

pub(crate) use directory::Directory;
pub(crate) use film::{Film, Thing};
pub use page::page;
pub use svg::figure;
pub(crate) use terminal::markdown;
pub use terminal::print;

use crate::claim::Verdict;
use crate::config::Plan;
use crate::error::Result;
use crate::runner::Results;
use crate::summary::Summary;

/// A finished run with everything that reports show.
#[derive(Debug)]
pub struct Report<'a> {
    /// What was asked for.
    pub plan: &'a Plan,
    /// What came of it.
    pub results: &'a Results,
    /// The same as means over trials.
    pub summary: Summary,
    /// The judgement of each claim.
    pub verdicts: Vec<Verdict>,
}

impl<'a> Report<'a> {
    /// Aggregates results and judges all claims.
    pub fn new(plan: &'a Plan, results: &'a Results) -> Self {
        let summary = results.summary(plan);
        let verdicts = plan.experiment.claims.iter().map(|of| of.claim.judge(&summary)).collect();
        Report { plan, results, summary, verdicts }
    }

    /// Writes all files of the report into a directory.
    pub(crate) fn write(&self, directory: &Directory) -> Result<()> {
        let chart = figure(&self.summary, &self.plan.experiment.figure, &self.plan.experiment.title);
        directory.write("results.jsonl", &files::results(self)?)?;
        directory.write("timings.jsonl", &files::timings(self)?)?;
        directory.write("results.csv", &files::csv(self)?)?;
        let config = files::config(self)?;
        directory.write("config.toml", config.as_bytes())?;
        directory.write("figure.svg", chart.0.as_bytes())?;
        directory.write("index.html", page(self, &chart, &config).into_string().as_bytes())
    }
}
