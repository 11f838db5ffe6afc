//! Texts that pages and terminal share.

use crf_core::Stop;

use super::Report;
use crate::claims::claim::Outcome;
use crate::config::show;
use crate::results::summary::MetricColumn;

/// The methods with trainings that used all their iterations, each with the number of such
/// trainings: `MLE (3 of 3)`.
pub(crate) fn limited(report: &Report<'_>) -> Vec<String> {
    let methods = report.summary.methods.iter().enumerate().filter_map(|(method, name)| {
        let cells = || report.results.cells.iter().filter(move |cell| cell.method == method);
        let ended = cells().filter(|cell| cell.stop == Stop::Budget).count();
        (ended > 0).then(|| format!("{name} ({ended} of {})", cells().count()))
    });
    methods.collect()
}

/// The notes on methods in the form of [`limited`]: `Perceptron used all its iterations (3 of 3)`.
pub(crate) fn used_all_iterations(methods: &[String]) -> Vec<String> {
    let note = |method: &String| match method.rsplit_once(" (") {
        Some((name, count)) => format!("{name} used all its iterations ({count}"),
        None => format!("{method} used all its iterations"),
    };
    methods.iter().map(note).collect()
}

/// The reservation about quick runs.
pub(crate) const QUICK: &str =
    "smaller than the experiment: it shows that everything runs, and judges no claim";

/// The word for an outcome; failures stand out, and a quick run has only seen a claim or not.
pub(crate) fn word(outcome: Outcome, quick: bool) -> &'static str {
    match outcome {
        Outcome::Holds if quick => "seen",
        Outcome::Fails if quick => "unseen",
        Outcome::Holds => "holds",
        Outcome::Fails => "FAILS",
        Outcome::Skipped => "skipped",
    }
}

/// The column names and rows of the table of results.
pub(crate) fn rows(report: &Report<'_>) -> (Vec<String>, Vec<Vec<String>>) {
    let summary = &report.summary;
    let keys = summary.points.iter().take(1).flat_map(|point| point.iter().map(|(key, _)| key.to_owned()));
    let mut head: Vec<String> = keys.collect();
    head.push("method".to_owned());
    let experiment = &report.plan.experiment;
    head.extend(summary.metrics.iter().map(|MetricColumn { name, .. }| {
        let published =
            experiment.published.iter().any(|published| published.metric.replace('-', "_") == *name);
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
