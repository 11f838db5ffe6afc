//! Parts that all iterating learners share: early stopping, and the order in which data are
//! visited.
//!
//! Validation data are watched in one place, `early_stopping.rs`, by the loop of every learner that
//! has the setting `patience`. This room uses `objectives`; `optimizers`, `margin`, `boosting` and
//! `neural` use it. Start with `early_stopping.rs`.

pub(crate) mod early_stopping;
pub(crate) mod shuffled_order;

pub use early_stopping::EarlyStopping;
