//! What every learner that iterates shares: early stopping, and the order in which data are visited.

pub(crate) mod early_stopping;
pub(crate) mod patience;
pub(crate) mod shuffled_order;
