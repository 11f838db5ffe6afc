//! Arithmetic without any random field in it: vector instructions, aligned memory, moments, sums
//! without rounding errors, and compact storage of numbers.
//!
//! This room uses nothing else of the crate. Start with `simd.rs`: a kernel is written once as safe
//! loops and compiled for each set of vector instructions.

pub(crate) mod aligned;
pub(crate) mod compensated_sum;
pub(crate) mod moments;
pub(crate) mod serde_numbers;
pub mod simd;
