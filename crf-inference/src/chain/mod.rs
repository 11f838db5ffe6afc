//! Exact inference on chains.

mod few;
mod forward_backward;
mod k_best;
mod lattice;
mod rows;
mod scaled;
mod viterbi;

pub use forward_backward::{Domain, ForwardBackward};
pub use lattice::Lattice;

use crf_core::{Error, Result, Shape};

/// Length and labels of a chain; other graphs are refused.
fn chain(shape: &Shape<'_>) -> Result<(usize, usize)> {
    match *shape {
        Shape::Chain { len, labels } => Ok((len, labels)),
        Shape::Graph(_) => Err(Error::Unsupported {
            tag: "forward-backward",
            what: "answers chains only; graphs need an inference for graphs".into(),
        }),
    }
}
