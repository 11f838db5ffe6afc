//! Charts before they have size and colour, and the chart of an experiment's results.

use super::axis::{Axis, range};
use crate::config::{Figure, number, show};
use crate::results::mean_interval::MeanInterval;
use crate::results::summary::Summary;

/// A chart, before it has size and colour.
#[derive(Debug)]
pub(crate) struct Chart {
    pub(crate) x_title: String,
    pub(crate) y_title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    /// The panels side by side, with the same axes and the same number of series.
    pub(crate) panels: Vec<Panel>,
    /// True if the points of a series are joined.
    pub(crate) joined: bool,
}

/// A part of the figure with its own axes.
#[derive(Debug)]
pub(crate) struct Panel {
    /// The title; empty for a single panel.
    pub(crate) title: String,
    pub(crate) series: Vec<Series>,
}

/// A line of the figure.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<Dot>,
}

/// A mark of a line.
#[derive(Debug)]
pub(crate) struct Dot {
    pub(crate) x: f64,
    /// The position along the horizontal axis, in words.
    pub(crate) label: String,
    pub(crate) value: MeanInterval,
}

impl Chart {
    /// The chart of an experiment's results.
    pub(crate) fn new(summary: &Summary, figure: &Figure) -> Self {
        let metric = figure.y.as_deref().map_or(0, |name| summary.metric(name));
        let first_key = || summary.points.first().and_then(|point| point.iter().next()).map(|(key, _)| key);
        let (x_title, x, panels) = match figure.x.as_deref().or_else(first_key) {
            Some(key) => along(summary, key, figure, metric),
            None => by_method(summary, metric),
        };
        let joined = !x_title.is_empty();
        let dots = || panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
        let y = if figure.log_y {
            // Intervals may reach below zero; those ends are not shown.
            let (low, high) =
                range(dots().flat_map(|dot| [dot.value.mean, upper(dot)]).filter(|&end| end > 0.0));
            Axis::logarithmic(low, high)
        } else {
            let (low, high) = range(dots().flat_map(|dot| [2.0 * dot.value.mean - upper(dot), upper(dot)]));
            // A quantity that is never negative and comes near zero is shown with its zero, even if
            // an interval reaches invisibly below it.
            let positive = dots().all(|dot| dot.value.mean.is_nan() || dot.value.mean >= 0.0);
            let near = (-0.01 * high..0.5 * high).contains(&low);
            Axis::around(if positive && near { 0.0 } else { low }, high)
        };
        let titled = |title: &Option<String>, usual: String| title.clone().unwrap_or(usual);
        let x_title = if joined { titled(&figure.x_title, x_title) } else { x_title };
        let y_title = titled(&figure.y_title, summary.metrics[metric].name.replace('_', " "));
        Chart { x_title, y_title, x, y, panels, joined }
    }
}

/// The upper end of a mark's interval.
fn upper(dot: &Dot) -> f64 {
    dot.value.mean + dot.value.half_width.unwrap_or(0.0)
}

/// A line for each method and each combination of the other sweep keys, in a panel for each value
/// of one of them.
fn along(summary: &Summary, key: &str, figure: &Figure, metric: usize) -> (String, Axis, Vec<Panel>) {
    let panels = figure.panels.as_deref();
    let across = figure.across.as_deref().map(|name| summary.metric(name));
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
    let position = |method: usize, point: usize| match (across, &numbers) {
        (Some(across), _) => summary.estimate(method, point, across).mean,
        (None, Some(numbers)) => numbers[point],
        (None, None) => names.iter().position(|name| *name == label(point)).unwrap_or_default() as f64,
    };
    let axis = if across.is_none() && numbers.is_none() {
        Axis::named(&names)
    } else {
        let cells = (0..summary.methods.len())
            .flat_map(|method| (0..summary.points.len()).map(move |point| (method, point)));
        let (low, high) = range(cells.map(|(method, point)| position(method, point)));
        if figure.log_x && low > 0.0 { Axis::logarithmic(low, high) } else { Axis::through(low, high) }
    };
    let dot = |method: usize, point: usize| Dot {
        x: position(method, point),
        label: format!("{key} = {}", label(point)),
        value: summary.estimate(method, point, metric),
    };
    let mut parts: Vec<Panel> = Vec::new();
    let lines = summary.lines(key, &toml::Table::new());
    for (method, line) in
        (0..summary.methods.len()).flat_map(|method| lines.iter().map(move |line| (method, line)))
    {
        let title = panels.and_then(|panels| line.others.get(panels)).map(show).unwrap_or_default();
        let others = line.others.filter(|key| Some(key) != panels);
        let name = &summary.methods[method];
        let series = Series {
            name: if others.is_empty() { name.clone() } else { format!("{name}, {others}") },
            points: line.points.iter().map(|&point| dot(method, point)).collect(),
        };
        match parts.iter_mut().find(|panel| panel.title == title) {
            Some(panel) => panel.series.push(series),
            None => parts.push(Panel { title, series: vec![series] }),
        }
    }
    let title =
        across.map_or_else(|| key.to_owned(), |across| summary.metrics[across].name.replace('_', " "));
    (title, axis, parts)
}

/// The chart without a sweep: one mark for each method.
fn by_method(summary: &Summary, metric: usize) -> (String, Axis, Vec<Panel>) {
    let series = summary.methods.iter().enumerate().map(|(method, name)| {
        let value = summary.estimate(method, 0, metric);
        Series { name: name.clone(), points: vec![Dot { x: method as f64, label: String::new(), value }] }
    });
    let panel = Panel { title: String::new(), series: series.collect() };
    (String::new(), Axis::named(&summary.methods), vec![panel])
}
