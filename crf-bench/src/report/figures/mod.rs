//! Figures as SVG.
//!
//! Start with `chart.rs`, a chart before it has size and colour; `axis.rs` chooses its ticks,
//! `svg.rs` draws it. `paths.rs` and `densities.rs` make charts of selection paths and of normal
//! distributions; `film.rs` animates moving objects for `crf show`. Knows summaries and plans, not
//! HTML pages.

pub(crate) mod axis;
pub(crate) mod chart;
pub(crate) mod densities;
pub(crate) mod film;
pub(crate) mod paths;
pub(crate) mod svg;
