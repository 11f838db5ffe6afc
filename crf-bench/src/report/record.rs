//! A finished run as JSON.

use serde::{Deserialize, Serialize};

use super::Report;
use super::significance::{Comparison, comparisons};
use super::words::{limited, rows};
use crate::claims::claim::Outcome;
use crate::error::Result;
use crate::experiment::cell_digest::{self, hex};
use crate::support::hardware::Hardware;

/// A finished run as pages show it, stored as `run.json`; no plugin is needed to read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The title of the experiment.
    pub title: String,
    /// The paper, with the figure or table, that it reproduces.
    pub paper: Option<String>,
    /// The paper's own figure or table in words.
    pub published: Option<String>,
    /// The caption of our figure.
    pub caption: Option<String>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Number of trials.
    pub trials: u32,
    /// True for the quick variant of the file, which judges no claim.
    #[serde(default)]
    pub quick: bool,
    /// The options of the command line that override the file.
    #[serde(default)]
    pub options: Vec<String>,
    /// The verdict on each claim.
    pub claims: Vec<Judged>,
    /// The table of results.
    pub results: Sheet,
    /// Mean seconds of a cell, by method.
    pub times: Sheet,
    /// Every pair of methods, compared.
    pub comparisons: Vec<Comparison>,
    /// Total seconds of work.
    pub seconds: f64,
    /// The methods with trainings that used all their iterations, with the number of such
    /// trainings.
    #[serde(default)]
    pub limited: Vec<String>,
    /// The machine.
    pub hardware: Hardware,
    /// The version of the toolkit and the digest of the program.
    pub program: String,
}

/// A claim with its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The claim in words.
    pub text: String,
    /// The outcome.
    pub outcome: Outcome,
    /// The numbers behind the outcome.
    pub evidence: String,
}

/// A table of texts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sheet {
    /// The names of the columns.
    pub head: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

impl Record {
    /// The record of a report.
    pub(crate) fn new(report: &Report<'_>) -> Result<Self> {
        let experiment = &report.plan.experiment;
        let claims = experiment.claims.iter().zip(&report.verdicts).map(|(statement, verdict)| Judged {
            text: statement.text.clone(),
            outcome: verdict.outcome,
            evidence: verdict.evidence.clone(),
        });
        let (head, rows) = rows(report);
        Ok(Record {
            title: experiment.title.clone(),
            paper: experiment.paper.clone(),
            published: experiment.figure.published.clone(),
            caption: experiment.figure.caption.clone(),
            seed: experiment.seed,
            trials: experiment.trials,
            quick: report.plan.quick,
            options: report.plan.options.clone(),
            claims: claims.collect(),
            results: Sheet { head, rows },
            times: times(report),
            comparisons: comparisons(&report.summary),
            seconds: report.results.seconds(),
            limited: limited(report),
            hardware: Hardware::here(),
            program: format!("{} ({})", env!("CARGO_PKG_VERSION"), hex(&cell_digest::program_digest()?[..6])),
        })
    }

    /// Number of claims with an outcome.
    pub(crate) fn count(&self, outcome: Outcome) -> usize {
        self.claims.iter().filter(|claim| claim.outcome == outcome).count()
    }
}

fn times(report: &Report<'_>) -> Sheet {
    let rows = report.summary.methods.iter().enumerate().map(|(method, name)| {
        let cells: Vec<_> = report.results.cells.iter().filter(|cell| cell.method == method).collect();
        let mut sums = [0.0; 4];
        for seconds in cells.iter().map(|cell| cell.seconds) {
            let parts = [seconds.data, seconds.encode, seconds.train, seconds.evaluate];
            sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        }
        let means = sums.map(|sum| format!("{:.4}", sum / cells.len() as f64));
        [vec![name.clone()], means.to_vec()].concat()
    });
    let head = ["method", "data", "features", "training", "evaluation"].map(str::to_owned).to_vec();
    Sheet { rows: rows.collect(), head }
}
