//! The page of criterion's benchmarks: curves of time against each size.

use std::collections::BTreeMap;
use std::path::Path;

use maud::{Markup, html};
use serde_json::Value;

use super::run::table;
use super::site::read_text;
use crate::report::figures::axis::{Axis, range};
use crate::report::figures::chart::{Chart, Dot, Panel, Series};
use crate::report::figures::svg::draw;
use crate::report::record::Sheet;
use crate::results::mean_interval::MeanInterval;
use crate::support::folders::FilesBelow;

/// A benchmark: what was timed, and its sizes.
#[derive(Debug, Clone, PartialEq)]
struct Timed {
    group: String,
    /// One of several functions that a group compares.
    function: Option<String>,
    /// `T100-L22` is `[("T", 100), ("L", 22)]`.
    sizes: Vec<(String, f64)>,
    id: String,
    /// Nanoseconds.
    time: MeanInterval,
}

/// The page of all benchmarks in criterion's directory; `None` without benchmarks.
pub(crate) fn growth(criterion: &Path) -> Option<Markup> {
    let files = FilesBelow::new(criterion).paths;
    let named = files.iter().filter(|path| path.ends_with("new/benchmark.json"));
    let directories = named.filter_map(|path| path.parent());
    let mut all: Vec<Timed> = directories.filter_map(|below| timed(&criterion.join(below))).collect();
    if all.is_empty() {
        return None;
    }
    all.sort_by(|a, b| (&a.group, &a.function, &a.id).cmp(&(&b.group, &b.function, &b.id)));
    let row = |timed: &Timed| {
        let what = [Some(timed.group.clone()), timed.function.clone()].into_iter().flatten();
        vec![what.collect::<Vec<_>>().join(", "), timed.id.clone(), nanoseconds(timed.time.mean)]
    };
    let head = ["what", "sizes", "time"].map(str::to_owned).to_vec();
    let sheet = Sheet { head, rows: all.iter().map(row).collect() };
    Some(html! {
        p { "Means with 95% intervals, measured by criterion: " code { "cargo bench -p crf-bench" } "." }
        @for (group, size, lines) in curves(&all) {
            h2 { (group) " against " (size) }
            @let powers = powers(&size, &lines);
            figure {
                (draw(&chart(&size, lines), &group))
                figcaption { "Time grows with this power of " (size) ", by a straight line through the logarithms: " (powers) "." }
            }
        }
        h2 { "All benchmarks" }
        (table(&sheet))
    })
}

fn timed(directory: &Path) -> Option<Timed> {
    let read = |name: &str| serde_json::from_str::<Value>(&read_text(&directory.join(name)).ok()?).ok();
    let (benchmark, estimates) = (read("benchmark.json")?, read("estimates.json")?);
    let mean = &estimates["mean"];
    let interval = &mean["confidence_interval"];
    let half = (interval["upper_bound"].as_f64()? - interval["lower_bound"].as_f64()?) / 2.0;
    let (function, value) = (benchmark["function_id"].as_str(), benchmark["value_str"].as_str());
    let id = value.or(function)?.to_owned();
    let function = value.and(function).map(str::to_owned);
    let time = MeanInterval {
        mean: mean["point_estimate"].as_f64()?,
        deviation: None,
        half_width: Some(half),
        trials: 1,
    };
    Some(Timed { group: benchmark["group_id"].as_str()?.to_owned(), function, sizes: sizes(&id), id, time })
}

/// The sizes in a benchmark's name: words with a number at the end.
fn sizes(id: &str) -> Vec<(String, f64)> {
    let size = |word: &str| {
        let digits = word.find(|c: char| c.is_ascii_digit())?;
        let (name, number) = word.split_at(digits);
        (!name.is_empty()).then_some(())?;
        Some((name.to_owned(), number.parse().ok()?))
    };
    id.split('-').filter_map(size).collect()
}

/// The points of each line by its name.
type Lines = BTreeMap<String, Vec<(f64, MeanInterval)>>;

/// The curves: for each group and each size with at least three values while the others stay the
/// same, the lines along it.
fn curves(all: &[Timed]) -> Vec<(String, String, Lines)> {
    let mut curves: BTreeMap<(&str, &str), Lines> = BTreeMap::new();
    for timed in all {
        for (name, value) in &timed.sizes {
            let others = timed.sizes.iter().filter(|(other, _)| other != name);
            let others = others.map(|(name, value)| format!("{name} = {value}"));
            let line: Vec<String> = timed.function.clone().into_iter().chain(others).collect();
            let lines = curves.entry((&timed.group, name)).or_default();
            lines.entry(line.join(", ")).or_default().push((*value, timed.time));
        }
    }
    let kept = curves.into_iter().filter_map(|((group, size), mut lines)| {
        lines.retain(|_, points| points.len() >= 3);
        lines.values_mut().for_each(|points| points.sort_by(|a, b| a.0.total_cmp(&b.0)));
        (!lines.is_empty()).then(|| (group.to_owned(), size.to_owned(), lines))
    });
    kept.collect()
}

/// `L = 2: T^0.98; L = 22: T^1.01`
fn powers(size: &str, lines: &Lines) -> String {
    let power = |(name, points): (&String, &Vec<(f64, MeanInterval)>)| {
        let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
        format!("{name}{size}^{:.2}", slope(points))
    };
    lines.iter().map(power).collect::<Vec<_>>().join("; ")
}

/// The power of the size with which time grows, by least squares on logarithms.
fn slope(points: &[(f64, MeanInterval)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, time)| (x.ln(), time.mean.ln())).collect();
    let n = logs.len() as f64;
    let (x, y) = (
        logs.iter().map(|point| point.0).sum::<f64>() / n,
        logs.iter().map(|point| point.1).sum::<f64>() / n,
    );
    let products = logs.iter().map(|(log_size, log_time)| (log_size - x) * (log_time - y)).sum::<f64>();
    products / logs.iter().map(|(log_size, _)| (log_size - x).powi(2)).sum::<f64>()
}

fn chart(size: &str, lines: Lines) -> Chart {
    let milliseconds = |time: MeanInterval| MeanInterval {
        mean: time.mean / 1e6,
        half_width: time.half_width.map(|half| half / 1e6),
        ..time
    };
    let series: Vec<Series> = lines
        .into_iter()
        .map(|(name, points)| Series {
            name,
            points: points
                .into_iter()
                .map(|(x, time)| Dot { x, label: format!("{size} = {x}"), value: milliseconds(time) })
                .collect(),
        })
        .collect();
    let dots = || series.iter().flat_map(|series| &series.points);
    let (x, y) = (range(dots().map(|dot| dot.x)), range(dots().map(|dot| dot.value.mean)));
    Chart {
        x_title: size.to_owned(),
        y_title: "milliseconds".to_owned(),
        x: Axis::logarithmic(x.0, x.1),
        y: Axis::logarithmic(y.0, y.1),
        panels: vec![Panel { title: String::new(), series }],
        joined: true,
    }
}

/// `2.72 µs`
fn nanoseconds(time: f64) -> String {
    let (scale, unit) = match time {
        t if t < 1e3 => (1.0, "ns"),
        t if t < 1e6 => (1e3, "µs"),
        t if t < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{:.2} {unit}", time / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_words_with_numbers() {
        assert_eq!(sizes("T100-L22"), [("T".to_owned(), 100.0), ("L".to_owned(), 22.0)]);
        assert_eq!(sizes("dense"), []);
    }

    #[test]
    fn a_curve_needs_three_sizes_while_the_others_stay() {
        let timed = |id: &str, mean: f64| Timed {
            group: "viterbi".to_owned(),
            function: None,
            sizes: sizes(id),
            id: id.to_owned(),
            time: MeanInterval { mean, deviation: None, half_width: None, trials: 1 },
        };
        let all = [timed("T100-L2", 2e3), timed("T10-L2", 2e2), timed("T1000-L2", 2e4), timed("T10-L4", 8e2)];
        let curves = curves(&all);
        assert_eq!(curves.len(), 1);
        let (_, size, lines) = &curves[0];
        let points: Vec<f64> = lines["L = 2"].iter().map(|(x, _)| *x).collect();
        assert_eq!((size.as_str(), points), ("T", vec![10.0, 100.0, 1000.0]));
        assert_eq!(nanoseconds(2e4), "20.00 µs");
        assert_eq!(powers("T", lines), "L = 2: T^1.00");
    }

    #[test]
    fn things_that_a_group_times_beside_each_other_are_lines_of_their_own() {
        let timed = |function: &str, n: u32, mean: f64| Timed {
            group: "boosting".to_owned(),
            function: Some(function.to_owned()),
            sizes: sizes(&format!("N{n}")),
            id: format!("N{n}"),
            time: MeanInterval { mean, deviation: None, half_width: None, trials: 1 },
        };
        let all =
            [100, 200, 400].map(|n| [timed("trees", n, f64::from(n)), timed("pairs", n, f64::from(n * n))]);
        let curves = curves(&all.concat());
        assert_eq!(curves.len(), 1);
        assert_eq!(powers("N", &curves[0].2), "pairs: N^2.00; trees: N^1.00");
    }
}
