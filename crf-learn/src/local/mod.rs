//! Local baselines (plugins): classifiers of single positions through linfa; feature `linfa`.
//!
//! `logistic` and `svc` ask linfa for a classifier on a dense matrix of positions. The result is
//! converted to the weights of a log-linear model without transitions, so nothing else knows of
//! linfa. linfa does not report whether its optimizer converged, so the trace has our own objective
//! and gradient at its weights. The room uses `objectives` and `optimizers`. Start with
//! `positions.rs`, which both share.

pub(crate) mod logistic;
pub(crate) mod positions;
pub(crate) mod svc;

pub use logistic::Logistic;
pub use svc::Svc;
