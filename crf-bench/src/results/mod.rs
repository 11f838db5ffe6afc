//! Numbers of an experiment: means, intervals, paths of selection.

pub(crate) mod mean_interval;
pub(crate) mod selection_path;
pub(crate) mod summary;
