//! Inference: marginals, log Z, the best labellings and draws, from log potentials.
//!
//! Chains are exact. Their kernels run in the probability domain with vectorised exponentials and fall back to the
//! log domain by themselves when the potentials leave the range in which that is safe.
//! What potentials mean, and the trait all of this stands behind, is `crf-core`'s business.
#![deny(unsafe_code)]

mod chain;
mod simd;

pub use crate::chain::{Domain, ForwardBackward, Lattice};
