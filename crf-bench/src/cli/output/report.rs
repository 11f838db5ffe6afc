use std::io::{self, Write};
use std::path::Path;

use comfy_table::Table;

use crate::cli::output::table::markdown;
use crate::report::{QUICK, Report, limited, rows, used_all_iterations, word};
use crate::support::text::shown;

/// Prints the table of results, the verdicts on the claims, and the files of the report.
pub(crate) fn print(report: &Report<'_>, directory: &Path, out: &mut dyn Write) -> io::Result<()> {
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
    for note in used_all_iterations(&limited(report)) {
        writeln!(out, "note    {note}")?;
    }
    if report.plan.quick {
        writeln!(out, "quick   {QUICK}")?;
    }
    writeln!(out, "figure  {}", shown(&directory.join("figure.svg")))?;
    writeln!(out, "page    {}", shown(&directory.join("index.html")))
}

fn table(report: &Report<'_>) -> Table {
    let (head, rows) = rows(report);
    markdown(&head, rows, report.summary.metrics.len())
}
