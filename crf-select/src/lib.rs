//! Feature selection: paths of candidate models, small to large.
//!
//! A selector proposes and the caller disposes: which candidate is best is decided on data the selector never sees.
#![forbid(unsafe_code)]

mod none;

pub use crate::none::None;
