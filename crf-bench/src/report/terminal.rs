use std::io::{self, Write};
use std::path::Path;

use comfy_table::{CellAlignment, Table};
use crf_core::Stop;

use super::Report;
use crate::claims::claim::Outcome;
use crate::config::show;
use crate::results::summary::MetricColumn;

/// Prints the table of results, the verdicts, and where the rest is.
pub fn print(report: &Report<'_>, directory: &Path, out: &mut dyn Write) -> io::Result<()> {
    let experiment = &report.plan.experiment;
    match &experiment.paper {
        Some(paper) => writeln!(out, "{} ({paper})", experiment.title)?,
        None => writeln!(out, "{}", experiment.title)?,
    }
    writeln!(out, "{}", table(report))?;
    for (statement, verdict) in experiment.claims.iter().zip(&report.verdicts) {
        writeln!(out, "{:<7} {}", word(verdict.outcome, report.plan.quick), statement.text)?;
        writeln!(out, "        {}", verdict.evidence)?;
    }
    let limited = limited(report);
    if !limited.is_empty() {
        writeln!(out, "limit   of iterations, which ended trainings of {}", limited.join(", "))?;
    }
    if report.plan.quick {
        writeln!(out, "quick   {QUICK}")?;
    }
    writeln!(out, "figure  {}", directory.join("figure.svg").display())?;
    writeln!(out, "page    {}", directory.join("index.html").display())
}

/// The methods of which trainings were ended by their limit of iterations, with how many of how many.
pub(crate) fn limited(report: &Report<'_>) -> Vec<String> {
    let methods = report.summary.methods.iter().enumerate().filter_map(|(method, name)| {
        let cells = || report.results.cells.iter().filter(move |cell| cell.method == method);
        let ended = cells().filter(|cell| cell.stop == Stop::Budget).count();
        (ended > 0).then(|| format!("{name} ({ended} of {})", cells().count()))
    });
    methods.collect()
}

/// What quick runs are worth.
pub(crate) const QUICK: &str = "smaller than the experiment: it shows that all runs, and judges no claim";

/// The word for an outcome; failures stand out, but a quick run has seen a claim or not and no more.
pub(crate) fn word(outcome: Outcome, quick: bool) -> &'static str {
    match outcome {
        Outcome::Holds if quick => "seen",
        Outcome::Fails if quick => "unseen",
        Outcome::Holds => "holds",
        Outcome::Fails => "FAILS",
        Outcome::Skipped => "skipped",
    }
}

/// The head and rows of the table of results.
pub(crate) fn rows(report: &Report<'_>) -> (Vec<String>, Vec<Vec<String>>) {
    let summary = &report.summary;
    let keys = summary.points.iter().take(1).flat_map(|point| point.iter().map(|(key, _)| key.to_owned()));
    let mut head: Vec<String> = keys.collect();
    head.push("method".to_owned());
    let experiment = &report.plan.experiment;
    head.extend(summary.metrics.iter().map(|MetricColumn { name, .. }| {
        let published = experiment.published.iter().any(|of| of.metric.replace('-', "_") == *name);
        if published { format!("{name} (paper's)") } else { name.clone() }
    }));
    let mut rows = Vec::new();
    for (p, point) in summary.points.iter().enumerate() {
        for (m, method) in summary.methods.iter().enumerate() {
            let mut row: Vec<String> = point.iter().map(|(_, value)| show(value)).collect();
            row.push(method.clone());
            row.extend(summary.metrics.iter().enumerate().map(|(k, metric)| {
                let ours = summary.estimate(m, p, k);
                match experiment.published(method, point, &metric.name) {
                    Some(paper) => format!("{ours} ({paper})"),
                    None => ours.to_string(),
                }
            }));
            rows.push(row);
        }
    }
    (head, rows)
}

fn table(report: &Report<'_>) -> Table {
    let (head, rows) = rows(report);
    markdown(&head, rows, report.summary.metrics.len())
}

/// A table whose last columns, so many of them, are numbers.
pub(crate) fn markdown<S: ToString>(head: &[S], rows: Vec<Vec<String>>, n_numbers: usize) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header(head.iter().map(S::to_string));
    table.add_rows(rows);
    for column in table.column_iter_mut().rev().take(n_numbers) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
