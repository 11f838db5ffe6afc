//! What generators share: sizes of the splits, chains of labels, grids, noise.

pub(crate) mod binary;
pub(crate) mod by_score;
pub(crate) mod grid;
pub(crate) mod label_chain;
pub(crate) mod noise;
pub(crate) mod size;
pub(crate) mod splits;
