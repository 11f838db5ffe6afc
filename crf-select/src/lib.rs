//! Feature selection: paths of candidate models, small to large.
//!
//! A selector proposes and the caller disposes: which candidate is best is decided on data the selector never sees.
//!
//! ```
//! use crf_core::Selector;
//! use crf_select as _; // configs name selectors by tag, so nothing else would link the crate
//!
//! let selector: Box<dyn Selector> = serde_json::from_str(r#"{"type": "none"}"#)?;
//! assert!(selector.check().is_ok());
//! # Ok::<(), serde_json::Error>(())
//! ```
#![forbid(unsafe_code)]

mod none;

pub use crate::none::None;
