//! Charts as SVG: axes, panels with lines and bars, and the figures made of them.
//!
//! `chart.rs` is what a chart has, `svg.rs` draws it; `paths.rs`, `densities.rs` and `film.rs` make charts of results.

pub(crate) mod axis;
pub(crate) mod chart;
pub(crate) mod densities;
pub(crate) mod film;
pub(crate) mod paths;
pub(crate) mod svg;
