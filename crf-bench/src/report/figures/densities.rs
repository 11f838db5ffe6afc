//! Figures of the normal distributions that models have learned.

use std::f64::consts::TAU;

use super::axis::{Axis, range};
use super::chart::{Chart, Dot, Panel, Series};
use crate::results::mean_interval::MeanInterval;
use crate::results::summary::Summary;

/// Number of panels side by side.
const ABREAST: usize = 3;
/// The range of a density in deviations of the first method, and its number of steps.
const REACH: f64 = 4.0;
const STEPS: i32 = 24;

/// The densities of some observations under each method at the first point of the sweep, by mean
/// and deviation over trials.
///
/// The unit is the deviation of the first method from its mean: its own curve is the same in all
/// panels, and the shift and width of the others are visible whatever the unit of the observation.
pub(crate) fn charts(summary: &Summary, observations: &[String]) -> Vec<Chart> {
    let panels = observations.iter().map(|name| {
        let normal = |method: usize| {
            let mean_of =
                |what: &str| summary.estimate(method, 0, summary.metric(&format!("{what} of {name}"))).mean;
            [mean_of("mean"), mean_of("deviation")]
        };
        let [mean, deviation] = normal(0);
        let series = (0..summary.methods.len()).map(|method| {
            let [mine, spread] = normal(method);
            let (shift, width) = ((mine - mean) / deviation, spread / deviation);
            let points =
                (-STEPS..=STEPS).map(|step| dot(REACH * f64::from(step) / f64::from(STEPS), shift, width));
            Series { name: summary.methods[method].clone(), points: points.collect() }
        });
        Panel { title: name.clone(), series: series.collect() }
    });
    let panels: Vec<Panel> = panels.collect();
    let dots = || panels.iter().flat_map(|panel| &panel.series).flat_map(|series| &series.points);
    let (_, high) = range(dots().map(|dot| dot.value.mean));
    let mut panels = panels.into_iter().peekable();
    let mut charts = Vec::new();
    while panels.peek().is_some() {
        charts.push(Chart {
            x_title: format!("deviations of {}", summary.methods[0]),
            y_title: "density".to_owned(),
            x: Axis::through(-REACH, REACH),
            y: Axis::around(0.0, high),
            panels: panels.by_ref().take(ABREAST).collect(),
            joined: true,
        });
    }
    charts
}

/// The density at `x` of a normal distribution about `shift`.
fn dot(x: f64, shift: f64, width: f64) -> Dot {
    let z = (x - shift) / width;
    let density = (-0.5 * z * z).exp() / (width * TAU.sqrt());
    Dot {
        x,
        label: format!("at {x:.2}"),
        value: MeanInterval { half_width: None, ..MeanInterval::from_trials(&[density]) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densities_sum_to_one_and_peak_where_they_are_shifted_to() {
        let dots: Vec<Dot> = (-400..=400).map(|k| dot(f64::from(k) / 50.0, 0.5, 1.5)).collect();
        let total: f64 = dots.iter().map(|dot| dot.value.mean / 50.0).sum();
        assert!((total - 1.0).abs() < 1e-6, "{total}");
        let top = dots.iter().max_by(|a, b| a.value.mean.total_cmp(&b.value.mean)).map(|dot| dot.x);
        assert_eq!(top, Some(0.5));
    }
}
