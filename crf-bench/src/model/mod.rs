//! A data file becomes a model, and a model is used.
//!
//! Start with `train.rs`; `file.rs` writes model files and checks what it reads.

pub(crate) mod calibration;
pub(crate) mod cross_validate;
pub(crate) mod data_file;
pub(crate) mod file;
pub(crate) mod predict;
pub(crate) mod scores;
pub(crate) mod train;
pub(crate) mod trainer;
