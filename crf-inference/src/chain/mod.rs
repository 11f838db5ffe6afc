//! Exact inference on chains.

mod forward_backward;
mod k_best;
mod lattice;
mod scaled;
mod viterbi;

pub use forward_backward::{Domain, ForwardBackward};
pub use lattice::Lattice;

use crf_core::{Error, Potentials, Result, Shape};

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

/// The error for an instance on which every labelling is impossible, or which has a bad potential.
fn impossible(p: &Potentials<'_>) -> Error {
    match p.find_bad() {
        Some(bad) => Error::NotFinite(bad),
        None => Error::Infeasible(
            "every labelling has a potential of −∞; allow more labels or transitions".into(),
        ),
    }
}
