//! The numbers of a finished experiment: means with intervals, differences, paths of selection.
//!
//! `summary.rs` aggregates cells over trials; claims judge it and reports show it.
//! `mean_interval.rs` is a mean with Student's 95% interval, `selection_path.rs` the columns that a
//! path of candidates adds. Nothing here runs, prints or draws.

pub(crate) mod mean_interval;
pub(crate) mod selection_path;
pub(crate) mod summary;
