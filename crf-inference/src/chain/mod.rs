//! Exact inference on chains.
//!
//! Start with `forward_backward.rs` (the plugin) and `scaled.rs`, the recursions in the probability
//! domain. Potentials beyond their range go to `lattice.rs`, in the log domain. `viterbi.rs` and
//! `k_best.rs` find the best labellings.

mod forward_backward;
mod k_best;
mod lattice;
mod padded_rows;
mod scaled;
mod scaled_small;
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
