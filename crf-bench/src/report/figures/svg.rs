//! Charts as SVG documents.

use maud::{Markup, PreEscaped, html};

use super::chart::{Chart, Dot, Panel, Series};
use crate::config::Figure;
use crate::results::summary::Summary;

const LEFT: f64 = 64.0;
const TOP: f64 = 16.0;
const WIDTH: f64 = 520.0;
/// The width of each of several panels, and the gap between two.
const NARROW: f64 = 360.0;
const GAP: f64 = 28.0;
const HEIGHT: f64 = 320.0;
const BOTTOM: f64 = 52.0;
/// The height of a line of the legend.
const KEY: f64 = 22.0;

/// Colours that can be distinguished without colour vision (Okabe & Ito 2008), for light and dark
/// backgrounds.
///
/// The colours for light backgrounds are also in attributes, for programs without CSS variables.
const STYLE: &str = "
.crf-figure{--ink:#222;--grid:#ddd;--s0:#0072b2;--s1:#d55e00;--s2:#009e73;--s3:#b5559b;--s4:#a07000;--s5:#2d86c4}
@media (prefers-color-scheme:dark){.crf-figure{--ink:#ddd;--grid:#444;--s0:#56b4e9;--s1:#e69f00;--s2:#2fc89a;\
--s3:#e08fc0;--s4:#f0e442;--s5:#8ab8ff}}
.crf-figure{color:var(--ink)}.crf-figure .grid{color:var(--grid)}
.crf-figure .s0{color:var(--s0)}.crf-figure .s1{color:var(--s1)}.crf-figure .s2{color:var(--s2)}
.crf-figure .s3{color:var(--s3)}.crf-figure .s4{color:var(--s4)}.crf-figure .s5{color:var(--s5)}
.crf-figure .value{pointer-events:none;stroke:none;fill:var(--ink);paint-order:stroke}
.crf-figure .mark:hover .value,.crf-figure .mark:focus .value{visibility:visible}
.crf-figure .mark:focus{outline:none;stroke-width:3}
";

const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#b5559b", "#a07000", "#2d86c4"];
const DASHES: [&str; 6] = ["none", "7 3", "2 3", "9 3 2 3", "12 4", "4 2"];
/// Circle, square, triangle, diamond, cross, plus; each about the origin.
const MARKERS: [&str; 6] = [
    "M4 0A4 4 0 1 1 -4 0A4 4 0 1 1 4 0Z",
    "M-4 -4H4V4H-4Z",
    "M0 -5L5 4H-5Z",
    "M0 -5L5 0L0 5L-5 0Z",
    "M-4 -4L4 4M4 -4L-4 4",
    "M0 -5V5M-5 0H5",
];

/// The figure as an SVG document, with further charts below; the same results give the same bytes.
pub(crate) fn figure(summary: &Summary, figure: &Figure, title: &str, further: &[Chart]) -> Markup {
    let first = Chart::new(summary, figure);
    if further.is_empty() {
        return draw(&first, title);
    }
    let charts: Vec<&Chart> = std::iter::once(&first).chain(further).collect();
    let (width, height) = charts
        .iter()
        .map(|chart| size(chart))
        .fold((0.0_f64, 0.0), |all, one| (all.0.max(one.0), all.1 + one.1));
    let tops = charts.iter().scan(0.0, |top, chart| {
        let mine = *top;
        *top += size(chart).1;
        Some(mine)
    });
    html! {
        svg xmlns="http://www.w3.org/2000/svg" role="group" aria-label=(title)
            viewBox=(format!("0 0 {width:.0} {height:.0}"))
            width=(format!("{width:.0}")) height=(format!("{height:.0}")) {
            @for (chart, top) in charts.iter().zip(tops) {
                g transform=(format!("translate(0 {top:.0})")) { (draw(chart, title)) }
            }
        }
    }
}

/// Width and height of a chart.
fn size(chart: &Chart) -> (f64, f64) {
    let right = (panel_width(chart) + GAP) * chart.panels.len().saturating_sub(1) as f64;
    let names = chart.panels.iter().flat_map(|panel| &panel.series).map(|series| series.name.chars().count());
    let keys = chart.panels.iter().map(|panel| panel.series.len()).max().unwrap_or(0);
    let (legend, legend_height) = match chart.joined {
        true => (68.0 + 9.0 * names.max().unwrap_or(0) as f64, TOP + 12.0 + KEY * keys as f64),
        false => (20.0, 0.0),
    };
    let height = TOP + HEIGHT + BOTTOM + slant(chart).unwrap_or(0.0);
    (outside(chart) + LEFT + panel_width(chart) + right + legend, legend_height.max(height))
}

/// A chart as an SVG document. Every mark can be reached by keyboard or mouse, and then shows its
/// value.
pub(crate) fn draw(chart: &Chart, title: &str) -> Markup {
    // Lines with the same index have the same method and settings in all panels.
    let keys = chart.panels.iter().map(|panel| &panel.series).max_by_key(|series| series.len());
    let keys = keys.map_or(&[][..], |series| &series[..]);
    let step = panel_width(chart) + GAP;
    let right = step * chart.panels.len().saturating_sub(1) as f64;
    let (width, height) = size(chart);
    let outside = outside(chart);
    let about = match chart.x_title.as_str() {
        "" => format!("{title}: {} of each method", chart.y_title),
        x => format!("{title}: {} against {x}", chart.y_title),
    };
    html! {
        svg xmlns="http://www.w3.org/2000/svg" class="crf-figure" role="group" aria-label=(about)
            color="#222" fill="currentColor" font-family="system-ui,sans-serif" font-size="13"
            viewBox=(format!("{:.0} 0 {width:.0} {height:.0}", 0.0 - outside))
            width=(format!("{width:.0}")) height=(format!("{height:.0}")) {
            style { (PreEscaped(STYLE)) }
            @for (k, panel) in chart.panels.iter().enumerate() {
                g transform=(format!("translate({} 0)", step * k as f64)) {
                    (axes(chart, panel, k == 0))
                    @for (i, series) in panel.series.iter().enumerate() { (line(chart, i, series)) }
                }
            }
            @if chart.joined {
                g transform=(format!("translate({right} 0)")) {
                    @for (i, series) in keys.iter().enumerate() { (key(chart, i, series)) }
                }
            }
        }
    }
}

/// The axes of a panel; only the first panel has labels on the vertical axis.
fn axes(chart: &Chart, panel: &Panel, first: bool) -> Markup {
    let (right, floor) = (LEFT + panel_width(chart), TOP + HEIGHT);
    let middle = (LEFT + right) / 2.0;
    html! {
        g class="grid" color="#ddd" stroke="currentColor" {
            @for (value, _) in &chart.y.ticks {
                path d=(format!("M{LEFT} {:.2}H{right}", y(chart, *value))) {}
            }
        }
        path fill="none" stroke="currentColor" d=(format!("M{LEFT} {TOP}V{floor}H{right}")) {}
        text text-anchor="middle" font-weight="bold" x=(middle) y=(TOP - 4.0) { (panel.title) }
        @for (value, label) in chart.y.ticks.iter().filter(|_| first) {
            text text-anchor="end" x=(LEFT - 8.0) y=(format!("{:.2}", y(chart, *value) + 4.0)) { (label) }
        }
        @for (value, label) in &chart.x.ticks {
            path stroke="currentColor" d=(format!("M{:.2} {floor}v5", x(chart, *value))) {}
            @if slant(chart).is_some() {
                text text-anchor="end" transform=(format!("translate({:.2} {}) rotate(-35)", x(chart, *value) + 4.0, floor + 16.0)) {
                    (label)
                }
            } @else {
                text text-anchor="middle" x=(format!("{:.2}", x(chart, *value))) y=(floor + 20.0) { (label) }
            }
        }
        text text-anchor="middle" x=(middle) y=(floor + 42.0 + slant(chart).unwrap_or(0.0)) { (chart.x_title) }
        @if first {
            text text-anchor="middle" transform=(format!("translate(16 {}) rotate(-90)", TOP + HEIGHT / 2.0)) {
                (chart.y_title)
            }
        }
    }
}

fn line(chart: &Chart, i: usize, series: &Series) -> Markup {
    let dots: Vec<&Dot> = series.points.iter().filter(|dot| dot.value.mean.is_finite()).collect();
    let way = dots.iter().enumerate().map(|(k, dot)| {
        format!("{}{:.2} {:.2}", if k == 0 { "M" } else { "L" }, x(chart, dot.x), y(chart, dot.value.mean))
    });
    let way: String = way.collect();
    html! {
        g class=(class(i)) color=(colour(i)) stroke="currentColor" fill="none" stroke-width="1.6" {
            @if chart.joined && dots.len() > 1 { path stroke-dasharray=(dash(i)) d=(way) {} }
            @for dot in dots { (mark(chart, i, series, dot)) }
        }
    }
}

fn mark(chart: &Chart, i: usize, series: &Series, dot: &Dot) -> Markup {
    let (left, top) = (x(chart, dot.x), y(chart, dot.value.mean));
    let text = match dot.label.as_str() {
        "" => format!("{}: {}", series.name, dot.value),
        label => format!("{}, {label}: {}", series.name, dot.value),
    };
    let anchor = if chart.x.position(dot.x) > 0.5 { "end" } else { "start" };
    html! {
        g class="mark" tabindex="0" role="img" aria-label=(text) {
            title { (text) }
            @if let Some(half) = dot.value.half_width {
                @let (high, low) = (y(chart, dot.value.mean + half), y(chart, dot.value.mean - half));
                path d=(format!("M{left:.2} {high:.2}V{low:.2}m-4 0h8M{:.2} {high:.2}h8", left - 4.0)) {}
            }
            path transform=(format!("translate({left:.2} {top:.2})")) fill="currentColor" d=(marker(i)) {}
            text class="value" visibility="hidden" text-anchor=(anchor) aria-hidden="true"
                x=(format!("{left:.2}")) y=(format!("{:.2}", top - 10.0)) { (dot.value) }
        }
    }
}

/// A line of the legend.
fn key(chart: &Chart, i: usize, series: &Series) -> Markup {
    let (left, top) = (LEFT + panel_width(chart) + 14.0, TOP + 12.0 + KEY * i as f64);
    html! {
        g transform=(format!("translate({left} {top})")) {
            g class=(class(i)) color=(colour(i)) stroke="currentColor" stroke-width="1.6" {
                path stroke-dasharray=(dash(i)) d="M0 0H30" {}
                path transform="translate(15 0)" d=(marker(i)) {}
            }
            text x="38" y="4" { (series.name) }
        }
    }
}

/// The depth of slanted labels below the horizontal axis; `None` if the labels fit horizontally.
fn slant(chart: &Chart) -> Option<f64> {
    let ticks = &chart.x.ticks;
    let longest = 7.0 * ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0) as f64;
    let room = panel_width(chart) / ticks.len().max(1) as f64;
    (longest > room - 2.0).then(|| 35_f64.to_radians().sin() * longest)
}

/// The width of slanted labels beyond the left edge.
fn outside(chart: &Chart) -> f64 {
    let reach = |(value, label): &(f64, String)| {
        35_f64.to_radians().cos() * 7.0 * label.chars().count() as f64 - x(chart, *value)
    };
    slant(chart).map_or(0.0, |_| chart.x.ticks.iter().map(reach).fold(0.0, f64::max))
}

fn panel_width(chart: &Chart) -> f64 {
    if chart.panels.len() > 1 { NARROW } else { WIDTH }
}

fn x(chart: &Chart, value: f64) -> f64 {
    LEFT + panel_width(chart) * chart.x.position(value)
}

fn y(chart: &Chart, value: f64) -> f64 {
    TOP + HEIGHT * (1.0 - chart.y.position(value))
}

fn class(i: usize) -> String {
    format!("s{}", i % COLOURS.len())
}

/// The colour of line `i`, on light paper.
pub(crate) fn colour(i: usize) -> &'static str {
    COLOURS[i % COLOURS.len()]
}

fn dash(i: usize) -> &'static str {
    DASHES[i % DASHES.len()]
}

/// The marker of line `i`; later lines of one colour get another shape.
fn marker(i: usize) -> &'static str {
    MARKERS[(i + i / MARKERS.len()) % MARKERS.len()]
}
