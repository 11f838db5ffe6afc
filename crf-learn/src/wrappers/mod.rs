//! Learners around learners, and weights that are given.

pub(crate) mod best_of;
pub(crate) mod fixed;
pub(crate) mod in_part;
pub(crate) mod label_weighted;
