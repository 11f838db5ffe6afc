use super::axis::{Axis, range};
use crate::config::{Figure, number, show};
use crate::estimate::Estimate;
use crate::summary::Summary;

/// What a figure shows, before it has any size or colour.
#[derive(Debug)]
pub(super) struct Chart {
    pub(super) x_title: String,
    pub(super) y_title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) series: Vec<Series>,
    /// Whether the points of a series are joined.
    pub(super) joined: bool,
}

/// One line of the figure.
#[derive(Debug)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) points: Vec<Dot>,
}

/// One mark of a line.
#[derive(Debug)]
pub(super) struct Dot {
    pub(super) x: f64,
    /// What the horizontal axis would call it.
    pub(super) label: String,
    pub(super) of: Estimate,
}

impl Chart {
    /// The chart that an experiment asks for.
    pub(super) fn new(summary: &Summary, figure: &Figure) -> Self {
        let metric = figure.y.as_deref().map_or(0, |name| summary.metric(name));
        let first_key = || summary.points.first().and_then(|point| point.iter().next()).map(|(key, _)| key);
        let (x_title, x, series) = match figure.x.as_deref().or_else(first_key) {
            Some(key) => along(summary, key, metric, figure.log_x),
            None => by_method(summary, metric),
        };
        let joined = !x_title.is_empty();
        let ends = series.iter().flat_map(|series| &series.points).flat_map(|dot| {
            let half = dot.of.half_width.unwrap_or(0.0);
            [dot.of.mean - half, dot.of.mean + half]
        });
        let (low, high) = range(ends);
        // A quantity that is never negative and comes near zero is shown with its zero.
        let low = if low > 0.0 && low < 0.5 * high { 0.0 } else { low };
        let y_title = summary.metrics[metric].name.replace('_', " ");
        Chart { x_title, y_title, x, y: Axis::around(low, high), series, joined }
    }
}

/// A line for each method and each combination of the other sweep keys.
fn along(summary: &Summary, key: &str, metric: usize, log: bool) -> (String, Axis, Vec<Series>) {
    let value = |point: usize| summary.value(point, key);
    let label = |point: usize| value(point).map(show).unwrap_or_default();
    let mut names: Vec<String> = Vec::new();
    for point in 0..summary.points.len() {
        if !names.contains(&label(point)) {
            names.push(label(point));
        }
    }
    let numbers: Option<Vec<f64>> =
        (0..summary.points.len()).map(|point| value(point).and_then(number)).collect();
    let place = |point: usize| match &numbers {
        Some(numbers) => numbers[point],
        None => names.iter().position(|name| *name == label(point)).unwrap_or_default() as f64,
    };
    let axis = match &numbers {
        Some(numbers) => {
            let (low, high) = range(numbers.iter().copied());
            if log && low > 0.0 { Axis::logarithmic(low, high) } else { Axis::through(low, high) }
        }
        None => Axis::named(&names),
    };
    let lines = summary.lines(key, &toml::Table::new());
    let series = (0..summary.methods.len())
        .flat_map(|method| lines.iter().map(move |line| (method, line)).collect::<Vec<_>>());
    let series = series.map(|(method, line)| {
        let name = &summary.methods[method];
        let dot = |&point: &usize| Dot {
            x: place(point),
            label: format!("{key} = {}", label(point)),
            of: summary.estimate(method, point, metric),
        };
        Series {
            name: if line.others.is_empty() { name.clone() } else { format!("{name}, {}", line.others) },
            points: line.points.iter().map(dot).collect(),
        }
    });
    (key.to_owned(), axis, series.collect())
}

/// One mark for each method, where nothing is swept.
fn by_method(summary: &Summary, metric: usize) -> (String, Axis, Vec<Series>) {
    let series = summary.methods.iter().enumerate().map(|(method, name)| {
        let of = summary.estimate(method, 0, metric);
        Series { name: name.clone(), points: vec![Dot { x: method as f64, label: String::new(), of }] }
    });
    (String::new(), Axis::named(&summary.methods), series.collect())
}
