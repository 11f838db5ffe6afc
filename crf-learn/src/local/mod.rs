//! Learners of one position at a time, through linfa; feature `linfa`.

pub(crate) mod logistic;
pub(crate) mod positions;
pub(crate) mod svc;
