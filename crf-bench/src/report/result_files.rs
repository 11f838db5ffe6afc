//! The files with the numbers of a run.

use serde::Serialize;

use super::Report;
use crate::claims::claim::Outcome;
use crate::config::{SweepValues, show};
use crate::error::{Error, Result};
use crate::experiment::cell::{Cell, Seconds};

/// A line of `results.jsonl`, without times, so that equal runs give equal bytes.
#[derive(Serialize)]
struct ResultLine<'a> {
    method: &'a str,
    point: &'a SweepValues,
    trial: u32,
    seed: &'a str,
    metrics: serde_json::Map<String, serde_json::Value>,
    features: usize,
    stop: crf_core::Stop,
    iterations: usize,
}

#[derive(Serialize)]
struct TimingLine<'a> {
    method: &'a str,
    point: &'a SweepValues,
    trial: u32,
    seconds: Seconds,
}

fn lines<'c, T: Serialize>(cells: &'c [Cell], line: impl Fn(&'c Cell) -> T) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for cell in cells {
        serde_json::to_writer(&mut out, &line(cell)).map_err(Error::format("a line of results"))?;
        out.push(b'\n');
    }
    Ok(out)
}

/// The contents of `results.jsonl`: the results of every cell.
pub(crate) fn results(report: &Report<'_>) -> Result<Vec<u8>> {
    let summary = &report.summary;
    lines(&report.results.cells, |cell| ResultLine {
        method: &summary.methods[cell.method],
        point: &summary.points[cell.point],
        trial: cell.trial,
        seed: &cell.seed,
        metrics: summary
            .metrics
            .iter()
            .zip(&cell.metrics)
            .map(|(metric, &value)| (metric.name.clone(), value.into()))
            .collect(),
        features: cell.features,
        stop: cell.stop,
        iterations: cell.iterations,
    })
}

/// The contents of `timings.jsonl`: the times of every cell.
pub(crate) fn timings(report: &Report<'_>) -> Result<Vec<u8>> {
    let summary = &report.summary;
    lines(&report.results.cells, |cell| TimingLine {
        method: &summary.methods[cell.method],
        point: &summary.points[cell.point],
        trial: cell.trial,
        seconds: cell.seconds,
    })
}

/// The contents of `results.csv`: means with intervals.
pub(crate) fn csv(report: &Report<'_>) -> Result<Vec<u8>> {
    let summary = &report.summary;
    let keys: Vec<&str> =
        summary.points.first().map_or(Vec::new(), |p| p.iter().map(|(key, _)| key).collect());
    let mut out = csv::Writer::from_writer(Vec::new());
    let header = ["metric", "mean", "low", "high", "standard_deviation", "trials", "published"];
    out.write_record(["method"].iter().chain(&keys).chain(&header)).map_err(Error::format("results.csv"))?;
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for (m, method) in summary.methods.iter().enumerate() {
        for (p, point) in summary.points.iter().enumerate() {
            for (k, metric) in summary.metrics.iter().enumerate() {
                let estimate = summary.estimate(m, p, k);
                let mut row = vec![method.clone()];
                row.extend(point.iter().map(|(_, value)| show(value)));
                row.push(metric.name.clone());
                row.push(estimate.mean.to_string());
                let end = |side: f64| estimate.half_width.map(|half| estimate.mean + side * half);
                row.extend([-1.0, 1.0].map(|side| number(end(side))));
                let published = report.plan.experiment.published(method, point, &metric.name);
                row.extend([number(estimate.deviation), estimate.trials.to_string(), number(published)]);
                out.write_record(row).map_err(Error::format("results.csv"))?;
            }
        }
    }
    out.into_inner().map_err(Error::format("results.csv"))
}

/// The contents of `config.toml`: the resolved config, which runs to the same results.
///
/// Claims about points that the run omits are omitted, since they could not be checked again.
pub(crate) fn config(report: &Report<'_>) -> Result<String> {
    let mut config = report.plan.config.clone();
    if let Some(toml::Value::Array(claims)) = config.get_mut("claims") {
        let mut verdicts = report.verdicts.iter();
        claims.retain(|_| verdicts.next().is_some_and(|verdict| verdict.outcome != Outcome::Skipped));
    }
    toml::to_string(&config).map_err(Error::format("config.toml"))
}
