//! Models: trained from a data file, stored in one file, and used to label and to evaluate.
//!
//! Start with `trainer.rs`, the interface for programs, or `train.rs`, the training behind it and
//! behind `crf train`. `file.rs` is the model file: the fitted features, the model, the resolved
//! config and the trace, with a checksum; equal data and configs give equal files. `predict.rs`
//! labels, `scores.rs` and `calibration.rs` evaluate, `cross_validate.rs` chooses settings,
//! `data_file.rs` reads data with their digest, `nested.rs` bounds the nesting of what is read.
//!
//! Uses `config`; experiments do not use it, since they store results and no models.

pub(crate) mod calibration;
pub(crate) mod cross_validate;
pub(crate) mod data_file;
pub(crate) mod file;
mod nested;
pub(crate) mod predict;
pub(crate) mod scores;
pub(crate) mod train;
pub(crate) mod trainer;
