//! Parts that learners share: early stopping, the order in which data are visited, and the check
//! that a model can be used.
//!
//! Validation data are watched in one place, `early_stopping.rs`, by the loop of every learner that
//! has the setting `patience`. This room uses `objectives`; `optimizers`, `log_linear`, `margin`,
//! `boosting`, `generative`, `local` and `neural` use it. Start with `early_stopping.rs`.

pub(crate) mod early_stopping;
pub(crate) mod shuffled_order;
pub(crate) mod usable_model;

pub use early_stopping::EarlyStopping;
