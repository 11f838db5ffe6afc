//! Arithmetic without any random field in it: vectors, aligned memory, moments.

pub(crate) mod aligned;
pub(crate) mod moments;
pub(crate) mod serde_numbers;
pub mod simd;
