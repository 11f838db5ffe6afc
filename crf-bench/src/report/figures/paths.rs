//! Figures of selection paths.

use super::axis::{Axis, range};
use super::chart::{Chart, Dot, Panel, Series};
use crate::error::{Error, Result};
use crate::report::Report;
use crate::results::mean_interval::MeanInterval;
use crate::results::selection_path::PathPoint;

/// The largest number of marks of a line.
const MARKS: usize = 24;

/// The horizontal axis of a figure of paths.
#[derive(Clone, Copy, PartialEq)]
enum Along {
    Features,
    Seconds,
}

impl Along {
    fn coordinate(self, step: &PathPoint) -> f64 {
        match self {
            Along::Features => step.features as f64,
            Along::Seconds => step.seconds,
        }
    }
}

/// The charts of every metric against the number of features.
pub(crate) fn by_size(report: &Report<'_>) -> Vec<Chart> {
    let metrics = 0..report.plan.experiment.path.len();
    metrics.map(|metric| chart(report, Along::Features, metric)).collect()
}

/// The chart of the first metric against time, which differs from run to run; `None` without paths.
pub(crate) fn by_time(report: &Report<'_>) -> Option<Chart> {
    (!report.plan.experiment.path.is_empty()).then(|| chart(report, Along::Seconds, 0))
}

fn chart(report: &Report<'_>, along: Along, metric: usize) -> Chart {
    let summary = &report.summary;
    let panels = summary.points.iter().enumerate().map(|(point, settings)| Panel {
        title: settings.to_string(),
        series: (0..summary.methods.len())
            .map(|method| Series {
                name: summary.methods[method].clone(),
                points: line(&paths(report, method, point), along, metric),
            })
            .collect(),
    });
    let panels: Vec<Panel> = panels.collect();
    let dots = || panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
    let x = range(dots().map(|dot| dot.x));
    let (low, high) = range(dots().map(|dot| dot.value.mean));
    let title = match along {
        Along::Features => "features",
        Along::Seconds => "seconds of selection",
    };
    Chart {
        x_title: title.to_owned(),
        y_title: report.plan.experiment.path[metric].name().replace('_', " "),
        x: if along == Along::Seconds && x.0 > 0.0 {
            Axis::logarithmic(x.0, x.1)
        } else {
            Axis::through(x.0, x.1)
        },
        y: Axis::around(if low > 0.0 && low < 0.5 * high { 0.0 } else { low }, high),
        panels,
        joined: true,
    }
}

/// The paths of all trials.
fn paths<'r>(report: &'r Report<'_>, method: usize, point: usize) -> Vec<&'r [PathPoint]> {
    let cells = report.results.cells.iter().filter(|cell| cell.method == method && cell.point == point);
    cells.map(|cell| &cell.path[..]).filter(|path| !path.is_empty()).collect()
}

/// The mean over trials at some positions along the axis that at least half of them reach. Between
/// two candidates a trial has the value of the first.
fn line(paths: &[&[PathPoint]], along: Along, metric: usize) -> Vec<Dot> {
    let mut positions: Vec<f64> =
        paths.iter().flat_map(|path| path.iter().map(|step| along.coordinate(step))).collect();
    positions.sort_by(f64::total_cmp);
    positions.dedup();
    let every = positions.len().div_ceil(MARKS).max(1);
    let last = positions.last().copied();
    let chosen = positions.iter().copied().step_by(every);
    let mut chosen: Vec<f64> = chosen.collect();
    chosen.extend(last.filter(|last| chosen.last() != Some(last)));
    let dot = |x: f64| {
        let values: Vec<f64> = paths.iter().filter_map(|path| value_at(path, along, x, metric)).collect();
        let label = match along {
            Along::Features => format!("{x} features"),
            Along::Seconds => format!("{x:.2} s"),
        };
        // Lines of many marks are read without intervals.
        let value = || MeanInterval { half_width: None, ..MeanInterval::from_trials(&values) };
        (2 * values.len() >= paths.len()).then(|| Dot { x, label, value: value() })
    };
    chosen.into_iter().filter_map(dot).collect()
}

/// The value of a path's last candidate up to `x`, if the path reaches `x`.
fn value_at(path: &[PathPoint], along: Along, x: f64, metric: usize) -> Option<f64> {
    let furthest = path.iter().map(|step| along.coordinate(step)).fold(f64::NEG_INFINITY, f64::max);
    let before = path.iter().filter(|step| along.coordinate(step) <= x);
    let last = before
        .reduce(|last, step| if along.coordinate(step) >= along.coordinate(last) { step } else { last })?;
    (furthest >= x).then(|| last.values[metric])
}

/// The contents of `paths.csv`: every candidate of every path.
pub(crate) fn csv(report: &Report<'_>) -> Result<Vec<u8>> {
    let (summary, metrics) = (&report.summary, &report.plan.experiment.path);
    let mut out = csv::Writer::from_writer(Vec::new());
    let head = ["method", "point", "trial", "features", "seconds"].map(str::to_owned);
    let names = metrics.iter().map(|metric| metric.name());
    out.write_record(head.into_iter().chain(names)).map_err(Error::format("paths.csv"))?;
    for cell in &report.results.cells {
        for step in &cell.path {
            let name = [summary.methods[cell.method].clone(), summary.points[cell.point].to_string()];
            let numbers = [cell.trial.to_string(), step.features.to_string(), step.seconds.to_string()];
            let values = step.values.iter().map(f64::to_string);
            let row = name.into_iter().chain(numbers).chain(values);
            out.write_record(row).map_err(Error::format("paths.csv"))?;
        }
    }
    out.into_inner().map_err(Error::format("paths.csv"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_has_the_value_of_its_last_candidate_and_none_beyond_its_end() {
        let step = |features, seconds, value| PathPoint { features, seconds, values: vec![value] };
        let path = [step(1, 0.1, 0.5), step(4, 0.2, 0.3), step(3, 0.3, 0.4), step(8, 0.9, 0.2)];
        let by_size = |x| value_at(&path, Along::Features, x, 0);
        assert_eq!(
            [0.0, 1.0, 3.0, 4.0, 7.0, 8.0].map(by_size),
            [None, Some(0.5), Some(0.4), Some(0.3), Some(0.3), Some(0.2)]
        );
        assert_eq!(by_size(9.0), None);
        assert_eq!(value_at(&path, Along::Seconds, 0.5, 0), Some(0.4));
        let other = [step(1, 0.1, 0.7)];
        let line = line(&[&path, &other, &other], Along::Features, 0);
        assert_eq!(line.iter().map(|dot| (dot.x, dot.value.trials)).collect::<Vec<_>>(), [(1.0, 3)]);
    }
}
